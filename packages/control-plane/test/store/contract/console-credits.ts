import { expect, test } from "vitest";
import { openWorld, sampleTurn, type MakePlace, type World } from "./world.ts";

const DAY_MS = 86_400_000;

export function consoleCreditContract(place: MakePlace): void {
  test("days tell what was granted and spent and the balance at their end, without a gap", async () => {
    await using world = await openWorld(place);
    const { accounts, console } = world.store;
    const today = dayOf(world);
    await accounts.grant(world.orgId, 10_000);
    await turn(world, { heldMicros: 600, costMicros: 150 });
    world.clock.advance(2 * DAY_MS);
    await accounts.grant(world.orgId, 1_000);
    await turn(world, { heldMicros: 600, costMicros: 50 });

    const days = await console.credits.days(world.orgId, today - 1, today + 30);

    expect(days).toEqual([
      { day: today - 1, grantedMicros: 0, spentMicros: 0, balanceMicros: 0 },
      { day: today, grantedMicros: 10_000, spentMicros: 150, balanceMicros: 9_850 },
      { day: today + 1, grantedMicros: 0, spentMicros: 0, balanceMicros: 9_850 },
      { day: today + 2, grantedMicros: 1_000, spentMicros: 50, balanceMicros: 10_800 },
    ]);
    expect(await console.credits.days(world.orgId, today, today)).toEqual([days[1]]);
    const nothing = { grantedMicros: 0, spentMicros: 0, balanceMicros: 0 };
    expect(await console.credits.days(world.orgId, -700_000, -700_000)).toEqual([{ day: -700_000, ...nothing }]);
    expect(await console.credits.spentMicros(world.orgId, world.clock.now())).toBe(50);
    expect(await console.credits.spentMicros(world.orgId, 0)).toBe(200);
  });

  test("what is held for turns under way is told apart and counts as spent on no day", async () => {
    await using world = await openWorld(place);
    const { accounts, console, runs } = world.store;
    await accounts.grant(world.orgId, 1_000);
    const run = await world.start();
    await runs.hold(world.orgId, run.runId, 0, 300);

    const held = [await console.credits.heldMicros(world.orgId)];
    const [day] = await console.credits.days(world.orgId, dayOf(world), dayOf(world));
    await runs.commit(run, { turn: sampleTurn(0, { heldMicros: 300, costMicros: 100 }) });
    held.push(await console.credits.heldMicros(world.orgId));

    expect(held).toEqual([300, 0]);
    expect(day).toMatchObject({ spentMicros: 0, balanceMicros: 700 });
  });

  test("a turn over midnight is spent once, and no day spends less than nothing", async () => {
    await using world = await openWorld(place);
    const { accounts, console, runs } = world.store;
    await accounts.grant(world.orgId, 1_000);
    const first = dayOf(world);
    world.clock.advance(DAY_MS - 1);
    const run = await world.start();
    await runs.hold(world.orgId, run.runId, 0, 300);
    world.clock.advance(2);
    await runs.commit(run, { turn: sampleTurn(0, { heldMicros: 300, costMicros: 100 }) });

    const days = await console.credits.days(world.orgId, first, first + 1);

    expect(days.map(({ spentMicros }) => spentMicros)).toEqual([100, 0]);
    expect(days.map(({ balanceMicros }) => balanceMicros)).toEqual([700, 900]);
  });

  test("the ledger is read page by page, newest first, of one kind where asked, with the agents of its runs", async () => {
    await using world = await openWorld(place);
    const { accounts, console } = world.store;
    await accounts.createOrg({ orgId: "org_2", name: "Other", tier: "starter" });
    await accounts.grant("org_2", 5);
    for (let i = 1; i <= 3; i++) {
      await accounts.grant(world.orgId, 1_000 * i);
      await turn(world, { heldMicros: 10, costMicros: 4 });
    }

    const read = async (kind?: "grant" | "settle" | "release") => {
      const seen: [string, number, string | null][] = [];
      let cursor: string | undefined;
      do {
        const page = { limit: 2, ...(kind && { kind }), ...(cursor !== undefined && { cursor }) };
        const { items, nextCursor } = await console.credits.ledger(world.orgId, page);
        seen.push(
          ...items.map(({ kind, micros, agentId }): [string, number, string | null] => [kind, micros, agentId]),
        );
        cursor = nextCursor ?? undefined;
      } while (cursor !== undefined);
      return seen;
    };

    const ofOne = (granted: number) => [
      ["settle", 6, world.agentId],
      ["hold", -10, world.agentId],
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

const dayOf = ({ clock }: World): number => Math.floor(clock.now() / DAY_MS);

async function turn(world: World, spent: { heldMicros: number; costMicros: number }): Promise<void> {
  const run = await world.start();
  await world.store.runs.hold(world.orgId, run.runId, 0, spent.heldMicros);
  await world.store.runs.commit(run, { turn: sampleTurn(0, spent) });
  await world.finish(run);
}
