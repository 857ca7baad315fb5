import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { RunFilter } from "../src/runs/filter.ts";
import { openStore } from "@patchbay/store/open";
import { consoleOf } from "../../store/test/contract/world.ts";
import { sqlitePlace } from "../../store/test/sqlite-place.ts";
import { fillWithRuns } from "./many-runs.ts";

const RUNS = 10_080;
const WHOSE = { orgId: "org_1", agentId: "agt_1" };

test("ten thousand runs are found, sorted and added up without a gap", async () => {
  await using place = await sqlitePlace();
  const store = await openStore(place.url);
  await using _closing = { [Symbol.asyncDispose]: () => store.close() };
  await store.accounts.createOrg({ orgId: WHOSE.orgId, name: "Desk", tier: "starter" });
  await store.accounts.createAgent({ ...WHOSE, name: "Clerk", instructions: "" });
  await fillWithRuns(place.url, { ...WHOSE, runs: RUNS });
  const { runs } = consoleOf(store);
  const find = (
    filter: Parameters<typeof runs.list>[1] extends infer Asked ? Omit<Asked & RunFilter, "limit"> : never,
  ) => runs.list(WHOSE, { limit: 100, ...filter });
  /** Ids of all pages. */
  async function all(filter: Parameters<typeof find>[0]): Promise<string[]> {
    const ids: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await find({ ...filter, cursor });
      ids.push(...page.items.map(({ runId }) => runId));
      cursor = page.nextCursor;
    }
    return ids;
  }

  await store.index.catchUp();
  await store.index.record();

  const oldest = await find({ q: "No. 7: show" });
  expect(oldest).toMatchObject({ nextCursor: null });
  expect(oldest.items.map(({ query }) => query)).toContainEqual(expect.stringContaining("No. 7: show"));
  const [first] = oldest.items;
  expect((await find({ q: first!.runId })).items).toHaveLength(1);
  expect((await find({ threadId: first!.threadId })).items).toHaveLength(3);
  expect((await find({ sessionId: "session-0", role: "unknown" })).nextCursor).toBeNull();

  const denied = await all({ trouble: "denied" });
  expect(new Set(denied).size).toBe(denied.length);
  expect(await place.rows("select count(distinct run_id) as runs from calls where state = 'denied'")).toEqual([
    { runs: denied.length },
  ]);

  const costly = await all({ sort: "-costUsd" });
  expect(new Set(costly).size).toBe(RUNS);
  const [most] = await place.rows(
    "select run_id from usage group by run_id order by sum(cost_micros) desc, run_id desc limit 1",
  );
  expect(costly[0]).toBe(most!["run_id"]);
  expect(await runs.totals(WHOSE, {})).toMatchObject({ runs: RUNS, since: null });
});

test("sums read the newest 100,000 runs, and suggestions for filters the newest 20,000", async () => {
  await using place = await sqlitePlace();
  const store = await openStore(place.url);
  await using _closing = { [Symbol.asyncDispose]: () => store.close() };
  const { runs } = consoleOf(store);
  // Facts without their runs.
  using database = new DatabaseSync(place.file, { enableForeignKeyConstraints: false });
  database.exec(`
    insert into run_facts (run_id, org_id, agent_id, thread_id, key_id, source, status, functions, model, created_at,
      duration_ms, input_tokens, output_tokens, cost_micros, calls, failed_calls, denied_calls)
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 100_010)
    select 'run_' || n, 'org_1', 'agt_1', 'thr_1', 'key_1', 'api', 'succeeded', '',
      case when n < 80_010 then 'older' else 'newer' end, n, 1, 0, 0, 0, 0, 0, 0 from numbers`);

  const totals = await runs.totals(WHOSE, {});
  const { models } = await runs.values(WHOSE, {});
  const before = await runs.values(WHOSE, { to: 80_010 });

  // The last run that is read, and all of its millisecond.
  expect(totals).toMatchObject({ runs: 100_001, since: new Date(10).toISOString() });
  expect(models).toEqual([{ value: "newer", runs: 20_001 }]);
  expect(before.models).toEqual([{ value: "older", runs: 20_001 }]);
});
