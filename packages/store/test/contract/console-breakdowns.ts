import { expect, test } from "vitest";
import type { FiguresOf } from "../../../console-api/src/analytics/time-range.ts";
import { openRange } from "./console-figures.ts";
import { ending, openWorld, sampleTurn, type MakePlace, type World } from "./world.ts";

export function breakdownContract(place: MakePlace): void {
  test("ended queries are counted by agent, key, source and error code", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    await accounts.createAgent({ agentId: "agt_2", orgId: world.orgId, name: "Second", instructions: "" });
    const range = openRange(world);
    const query = async (of: Parameters<World["start"]>[0], costMicros: number, failed = false) => {
      const run = await world.start(of);
      await world.store.runs.commit(run, { turn: sampleTurn(0, { costMicros }) });
      const { finish, events = [] } = ending(run);
      const result = { ...finish!.result!, success: false, code: "deadline_exceeded" as const };
      await world.store.runs.commit(
        run,
        failed ? { events, finish: { ...finish!, status: "failed", result } } : { events, finish: finish! },
      );
    };
    await query({ keyId: "key_a" }, 5);
    // The range is read in slices.
    world.clock.advance(20 * 3_600_000);
    await query({ keyId: "key_a" }, 20, true);
    await query({ keyId: "tok_b" }, 100);
    await query({ keyId: "mem_c" }, 3);
    await query({ keyId: "key_d", agentId: "agt_2" }, 1, true);
    await world.start({ keyId: "key_a" });
    await world.store.index.record();
    const [of, buckets] = range();

    const figures = async (more: Partial<FiguresOf>) => {
      const { agents, keys, sources, codes } = await world.console.analytics.figures({ ...of, ...more }, buckets);
      return { agents, keys, sources, codes };
    };
    const agent = { agentId: world.agentId };
    expect(await figures({})).toEqual({
      agents: [
        { ...agent, name: expect.any(String), queries: 4, failed: 1, costUsd: 0.000_128 },
        { agentId: "agt_2", name: "Second", queries: 1, failed: 1, costUsd: 0.000_001 },
      ],
      keys: [
        { ...agent, keyId: "key_a", name: null, queries: 2, failed: 1, costUsd: 0.000_025 },
        { ...agent, keyId: "tok_b", name: null, queries: 1, failed: 0, costUsd: 0.000_1 },
        { ...agent, keyId: "mem_c", name: null, queries: 1, failed: 0, costUsd: 0.000_003 },
        { agentId: "agt_2", keyId: "key_d", name: null, queries: 1, failed: 1, costUsd: 0.000_001 },
      ],
      sources: [
        { source: "api", queries: 3, failed: 2, costUsd: 0.000_026 },
        { source: "local", queries: 1, failed: 0, costUsd: 0.000_1 },
        { source: "playground", queries: 1, failed: 0, costUsd: 0.000_003 },
      ],
      codes: [
        { ...agent, code: "deadline_exceeded", queries: 1, failed: 1, costUsd: 0.000_02 },
        { agentId: "agt_2", code: "deadline_exceeded", queries: 1, failed: 1, costUsd: 0.000_001 },
      ],
    });
    const production = await figures({ ...agent, source: "production" });
    expect(production.sources.map(({ source, queries }) => [source, queries])).toEqual([
      ["api", 2],
      ["local", 1],
    ]);
    expect(production.agents).toMatchObject([{ queries: 3, costUsd: 0.000_125 }]);
    await query({ keyId: "key_a", kind: "call" }, 0);
    await world.store.index.record();
    const { totals, agents, sources } = await world.console.analytics.figures(
      { ...of, ...agent, source: "production" },
      buckets,
    );
    expect(sources).toContainEqual({ source: "direct_call", queries: 1, failed: 0, costUsd: 0 });
    expect(agents[0]!.queries).toBe(totals.succeeded + totals.failed);
    expect((await figures({ role: "unknown" })).keys).toEqual([]);
    expect((await figures({ from: world.clock.now() + 1 })).codes).toEqual([]);
  });
}
