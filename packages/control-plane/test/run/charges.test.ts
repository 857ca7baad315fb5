import { expect, test } from "vitest";
import type { ChosenModel } from "../../src/ports/model-provider.ts";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const MANIFEST = manifestOf({ open: "everyone", staff: ["agent"] });

test("what a turn may cost is held by the step before it, at its start for the first, and what is left goes back", async () => {
  const model = scriptedModel([
    {
      calls: [
        ["open", {}],
        ["open", {}],
      ],
    },
    { text: "Done." },
  ]);
  const runtime = fakeGateway(MANIFEST, () => ok("done"));
  await using core = await startCore({ models: model.catalog, gateway: runtime.gateway, tier: "starter" });
  await core.store.accounts.grant("org_1", 1_000_000);
  const { hold, commit } = core.store.runs;
  const ahead: (number | undefined)[] = [];
  core.store.runs.hold = (...args) => {
    throw new Error(`held by itself: ${args.join(" ")}`);
  };
  core.store.runs.commit = async (lease, change) => {
    ahead.push(change.hold?.step);
    return await commit(lease, change);
  };

  expect(await core.query("Twice, please")).toMatchObject({ success: true, usage: { costUsd: 0.00004 } });

  expect(ahead).toEqual([undefined, undefined, 1, undefined]);
  expect(await core.store.accounts.balance("org_1")).toBe(1_000_000 - 40);
  core.store.runs.hold = hold;
});

test("an organisation without credits is refused, and one with too few for a turn is too", async () => {
  const model = scriptedModel(() => ({ text: "ok" }));
  const runtime = fakeGateway(MANIFEST, () => ok(1));
  await using core = await startCore({ models: model.catalog, gateway: runtime.gateway, tier: "starter" });

  expect(await core.query("Hi")).toMatchObject({ errorMessage: "Insufficient credits" });
  await core.store.accounts.grant("org_1", 100);
  expect(await core.query("Hi")).toMatchObject({ errorMessage: "Insufficient credits" });
  expect(await core.store.accounts.balance("org_1")).toBe(100);

  await core.store.accounts.grant("org_1", 1_000_000);
  expect(await core.query("Hi")).toMatchObject({ success: true });
  expect(await core.store.accounts.balance("org_1")).toBe(1_000_100 - 20);
  expect(model.requests).toHaveLength(1);
});

test("a model without a known price is charged like its provider's default one, and says so", async () => {
  const { catalog } = scriptedModel(() => ({ text: "ok" }));
  const models: typeof catalog = {
    choose: () => ({ ...(catalog.choose() as ChosenModel), cost: () => undefined, assumedCost: () => 500 }),
  };
  await using core = await startCore({ models, gateway: fakeGateway(MANIFEST, () => ok(1)).gateway, tier: "starter" });
  await core.store.accounts.grant("org_1", 1_000);

  const answer = await core.query("Hi");

  expect(answer.usage.costUsd).toBe(0.0005);
  expect(answer.warnings).toEqual([expect.stringContaining("No price is known for model")]);
  expect(await core.store.accounts.balance("org_1")).toBe(500);
});
