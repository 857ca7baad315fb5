import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { expect, test } from "vitest";
import {
  createAdapterLimit,
  createRateLimit,
  DEFAULT_TIERS,
  parseLimits,
  parseTiers,
  tierNamed,
} from "../../src/accounts/limits.ts";

test("sandbox is neither limited nor charged; the others are both", () => {
  expect(DEFAULT_TIERS).toEqual({
    sandbox: { queriesPerMinute: null, charged: false },
    starter: { queriesPerMinute: 60, charged: true },
    growth: { queriesPerMinute: 600, charged: true },
    scale: { queriesPerMinute: 6000, charged: true },
  });
});

test("a tiers file adds and replaces tiers", () => {
  const tiers = parseTiers(
    '{"team": {"queriesPerMinute": null, "charged": true}, "starter": {"queriesPerMinute": 5, "charged": false}}',
  );

  expect(tierNamed(tiers, "team")).toEqual({ queriesPerMinute: null, charged: true });
  expect(tierNamed(tiers, "starter")).toEqual({ queriesPerMinute: 5, charged: false });
  expect(tierNamed(tiers, "scale")).toEqual(DEFAULT_TIERS["scale"]);
});

test.each([
  ["not json", /This one is not valid JSON/],
  ["[]", /the file: /],
  ['{"team": {"queriesPerMinute": 0, "charged": true}}', /team.queriesPerMinute: /],
  ['{"team": {"queriesPerMinute": 1}, "a": {"charged": 1}}', /team.charged: .*; a.queriesPerMinute: .*; a.charged: /],
  ['{"team": {"queriesPerMinute": 1, "charged": true, "free": 1}}', /team: /],
])("the tiers file %j is refused with its faults and the right form", (text, fault) => {
  expect(() => parseTiers(text)).toThrow(fault);
  expect(() => parseTiers(text)).toThrow(/A tiers file is JSON like/);
});

test.each(["gone", "constructor", "__proto__"])("an unknown tier %s is charged and limited", (name) => {
  expect(tierNamed(DEFAULT_TIERS, name)).toEqual({ queriesPerMinute: 60, charged: true });
});

test("an organisation over its limit is stopped without affecting others", async () => {
  const take = createRateLimit({ small: { queriesPerMinute: 3, charged: false } });

  const taken = [];
  for (let i = 0; i < 5; i++) taken.push(await take("org_1", "small"));

  expect(taken.map((state) => state?.allowed)).toEqual([true, true, true, false, false]);
  expect(taken.map((state) => state?.remaining)).toEqual([2, 1, 0, 0, 0]);
  expect(taken.at(-1)).toMatchObject({ limit: 3, resetSeconds: expect.toSatisfy((s: number) => s > 0 && s <= 60) });
  expect(await take("org_2", "small")).toMatchObject({ allowed: true, remaining: 2 });
});

test("sandbox is never counted", async () => {
  const take = createRateLimit(DEFAULT_TIERS);

  expect(await take("org_1", "sandbox")).toBeUndefined();
});

test("a limits file changes the limits that it names", () => {
  expect(parseLimits('{"callsPerTurn": 64}')).toEqual({ ...DEFAULT_LIMITS, callsPerTurn: 64 });
});

test("a limits file with mistakes is refused with every fault", () => {
  expect(() => parseLimits('{"callsPerTurn": 0, "callsPerQuery": 3}')).toThrow(
    /callsPerTurn: .*>=1.*Unrecognized key: "callsPerQuery"/,
  );
  expect(() => parseLimits("{")).toThrow("This one is not valid JSON.");
});

test("adapters allow ten requests for each query of a tier, counted apart from queries", async () => {
  const tiers = { small: { queriesPerMinute: 1, charged: false } };
  const adapters = createAdapterLimit(tiers);
  await createRateLimit(tiers)("org", "small");

  for (let i = 0; i < 9; i++) await adapters("org", "small");

  expect(await adapters("org", "small")).toMatchObject({ allowed: true, limit: 10, remaining: 0 });
  expect(await adapters("org", "small")).toMatchObject({ allowed: false });
  expect(await createAdapterLimit(DEFAULT_TIERS)("org", "sandbox")).toBeUndefined();
});
