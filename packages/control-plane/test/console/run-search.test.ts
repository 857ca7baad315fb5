import { expect, test } from "vitest";
import type { RunFilter } from "../../src/console/runs/filter.ts";
import { openStore } from "../../src/store/open.ts";
import { consoleOf } from "../store/contract/world.ts";
import { sqlitePlace } from "../store/sqlite-place.ts";
import { fillWithRuns } from "./many-runs.ts";

const RUNS = 10_080;
const WHOSE = { orgId: "org_1", agentId: "agt_1" };

test("a search reads ten thousand runs per page and continues to the oldest", { timeout: 60_000 }, async () => {
  await using place = await sqlitePlace();
  const store = await openStore(place.url);
  await using _closing = { [Symbol.asyncDispose]: () => store.close() };
  await store.accounts.createOrg({ orgId: WHOSE.orgId, name: "Desk", tier: "starter" });
  await store.accounts.createAgent({ ...WHOSE, name: "Clerk", instructions: "" });
  await fillWithRuns(place.url, { ...WHOSE, runs: RUNS });
  const { runs } = consoleOf(store);
  const find = (filter: RunFilter & { cursor?: string }) =>
    runs.list(WHOSE.orgId, WHOSE.agentId, { limit: 50, ...filter });

  const oldest = { q: "No. 7: show" };
  const first = await find(oldest);
  expect(first.items).toEqual([]);
  const second = await find({ ...oldest, cursor: first.nextCursor! });
  expect(second).toMatchObject({ items: [{ query: expect.stringContaining("No. 7: show") }], nextCursor: null });

  // What an index finds needs no such bound.
  expect((await find({ q: second.items[0]!.runId })).items).toHaveLength(1);
  expect((await find({ threadId: second.items[0]!.threadId })).items).toHaveLength(3);
  expect((await find({ sessionId: "session-0", role: "unknown" })).nextCursor).toBeNull();

  const seen = new Set<string>();
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await runs.list(WHOSE.orgId, WHOSE.agentId, { limit: 100, trouble: "denied", cursor });
    for (const { runId, deniedCalls } of page.items) {
      expect(deniedCalls).toBeGreaterThan(0);
      expect(seen.has(runId)).toBe(false);
      seen.add(runId);
    }
    cursor = page.nextCursor;
  }
  const denied = await place.rows("select count(distinct run_id) as runs from calls where state = 'denied'");
  expect(denied).toEqual([{ runs: seen.size }]);
});
