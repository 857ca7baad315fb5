import { usdOf } from "@patchbay/server/accounts/admin-accounts";
import { expect, test } from "vitest";

import { openWorld, sampleTurn, type MakePlace, type World } from "./world.ts";

const DAY_MS = 86_400_000;

export function consoleCreditContract(place: MakePlace): void {
  test("days show grants, spending and the final balance, without a gap", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    const { console } = world;
    const today = dayOf(world);
    await accounts.grant(world.orgId, 10_000);
    await turn(world, { reservedMicros: 600, costMicros: 150 });
    world.clock.advance(2 * DAY_MS);
    await accounts.grant(world.orgId, 1_000);
    await turn(world, { reservedMicros: 600, costMicros: 50 });

    const days = await console.credits.days(world.orgId, today - 1, today + 30);

    expect(days).toEqual([
      figuresOf(today - 1, { granted: 0, spent: 0, balance: 0 }),
      figuresOf(today, { granted: 10_000, spent: 150, balance: 9_850 }),
      figuresOf(today + 1, { granted: 0, spent: 0, balance: 9_850 }),
      figuresOf(today + 2, { granted: 1_000, spent: 50, balance: 10_800 }),
    ]);
    expect(await console.credits.days(world.orgId, today, today)).toEqual([days[1]]);
    const nothing = { granted: 0, spent: 0, balance: 0 };
    expect(await console.credits.days(world.orgId, -700_000, -700_000)).toEqual([figuresOf(-700_000, nothing)]);
    expect(await console.credits.spentMicros(world.orgId, world.clock.now())).toBe(50);
    expect(await console.credits.spentMicros(world.orgId, 0)).toBe(200);
  });

  test("credit reserved for turns in progress is separate and counts as spent on no day", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    const { console } = world;
    await accounts.grant(world.orgId, 1_000);
    const run = await world.start();
    await runs.reserve(world.orgId, run.runId, 0, 300);

    const held = [await console.credits.reservedMicros(world.orgId)];
    const [day] = await console.credits.days(world.orgId, dayOf(world), dayOf(world));
    await runs.commit(run, { turn: sampleTurn(0, { reservedMicros: 300, costMicros: 100 }) });
    held.push(await console.credits.reservedMicros(world.orgId));

    expect(held).toEqual([300, 0]);
    expect(day).toMatchObject({ spentUsd: 0, balanceUsd: usdOf(700) });
  });

  test("a turn over midnight is spent once, and no day spends less than nothing", async () => {
    await using world = await openWorld(place);
    const { accounts, runs } = world.store;
    const { console } = world;
    await accounts.grant(world.orgId, 1_000);
    const first = dayOf(world);
    world.clock.advance(DAY_MS - 1);
    const run = await world.start();
    await runs.reserve(world.orgId, run.runId, 0, 300);
    world.clock.advance(2);
    await runs.commit(run, { turn: sampleTurn(0, { reservedMicros: 300, costMicros: 100 }) });

    const days = await console.credits.days(world.orgId, first, first + 1);

    expect(days.map(({ spentUsd }) => spentUsd)).toEqual([usdOf(100), 0]);
    expect(days.map(({ balanceUsd }) => balanceUsd)).toEqual([usdOf(700), usdOf(900)]);
  });

  test("the ledger is paged, newest first, can be filtered by kind, and names the agents of its runs", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    const { console } = world;
    await accounts.createOrg({ orgId: "org_2", name: "Other", tier: "starter" });
    await accounts.grant("org_2", 5);
    for (let i = 1; i <= 3; i++) {
      await accounts.grant(world.orgId, 1_000 * i);
      await turn(world, { reservedMicros: 10, costMicros: 4 });
    }

    const read = async (kind?: "grant" | "settle" | "release") => {
      const seen: [string, number, string | null][] = [];
      let cursor: string | undefined;
      do {
        const page = { limit: 2, ...(kind && { kind }), ...(cursor !== undefined && { cursor }) };
        const { items, nextCursor } = await console.credits.ledger(world.orgId, page);
        seen.push(
          ...items.map(({ kind, usd, agentId }): [string, number, string | null] => [
            kind,
            Math.round(usd * 1_000_000),
            agentId,
          ]),
        );
        cursor = nextCursor ?? undefined;
      } while (cursor !== undefined);
      return seen;
    };

    const ofOne = (granted: number) => [
      ["settle", 6, world.agentId],
      ["reserve", -10, world.agentId],
      ["grant", granted, null],
    ];
    expect(await read()).toEqual([...ofOne(3_000), ...ofOne(2_000), ...ofOne(1_000)]);
    expect(await read("grant")).toEqual([3_000, 2_000, 1_000].map((micros) => ["grant", micros, null]));
    expect(await read("settle")).toHaveLength(3);
    expect(await read("release")).toEqual([]);
    await expect(console.credits.ledger(world.orgId, { limit: 1, cursor: "nonsense" })).rejects.toMatchObject({
      code: "invalid_request",
    });
  });
}

const figuresOf = (day: number, { granted, spent, balance }: Record<"granted" | "spent" | "balance", number>) => ({
  day: new Date(day * DAY_MS).toISOString().slice(0, 10),
  grantedUsd: usdOf(granted),
  spentUsd: usdOf(spent),
  balanceUsd: usdOf(balance),
});

const dayOf = ({ clock }: World): number => Math.floor(clock.now() / DAY_MS);

async function turn(world: World, spent: { reservedMicros: number; costMicros: number }): Promise<void> {
  const run = await world.start();
  await world.store.runs.reserve(world.orgId, run.runId, 0, spent.reservedMicros);
  await world.store.runs.commit(run, { turn: sampleTurn(0, spent) });
  await world.finish(run);
}
