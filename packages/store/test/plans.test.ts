import { describe, expect, test } from "vitest";
import type { History } from "@patchbay/engine/ports/store/run-store";
import { approvalStore } from "../src/calls/approvals.ts";
import { auditStore } from "../src/audit/audit.ts";
import type { RunFilter } from "../../console-api/src/runs/filter.ts";
import { createConsoleQueries } from "../../console-api/src/queries.ts";
import type { Engine } from "../src/engine.ts";
import { runNotes } from "../src/runs/run-notes.ts";
import { toCursor } from "../src/page-cursor.ts";
import { runIndex } from "../src/runs/run-index.ts";
import { upkeep } from "../src/upkeep.ts";
import { retryStore } from "../src/runs/retries.ts";
import { runPages } from "../src/runs/run-page.ts";
import { runClaims } from "../src/runs/runs-claim.ts";
import { runReads } from "../src/runs/runs-read.ts";
import { sweep } from "../src/sweep/sweep.ts";
import { threadStore } from "../src/threads/threads.ts";
import { webhookStore } from "../src/webhooks.ts";
import { event, sampleRun } from "./contract/world.ts";
import { ENGINES, SCOPE } from "./planned.ts";

/** Postgres compares the words of all runs of the time: see the migration. SQLite asks its index of words. Open runs are few. */
const ALLOWED = /run_texts|^SCAN run_words VIRTUAL TABLE INDEX|runs_open/;

const EMPTY_ENTRY = {
  run_id: null,
  call_id: null,
  role: null,
  key_id: null,
  function_name: null,
  rule: null,
  manifest_hash: null,
  detail: null,
};

for (const [name, { open, unbounded }] of Object.entries(ENGINES))
  describe(name, () => {
    const bounded = (plans: string[]): string[] => plans.flatMap(unbounded);

    test("a page of threads for a key with a role list uses an index", async () => {
      await using planned = await open();
      const { list } = threadStore(planned.engine);
      const cursor = toCursor({ at: 5, id: "thr_5" });

      const plans = await planned.plansOf(() => list("agt_1", { limit: 5, cursor, roles: ["clerk", "guest"] }));

      expect(plans.join("\n")).toMatch(/thread_roles_by_update/);
      expect(bounded(plans)).toEqual([]);
    });

    test("reading a thread's history and texts uses indexes", async () => {
      await using planned = await open();
      const { history } = runReads(planned.engine);
      const scope = { role: "clerk", subject: '[["crm","42"]]', maxBytes: 1_000 };
      const ofRun = await planned.plansOf(() => history("thr_1", { ...scope, before: "run_9" }));

      expect(ofRun).toHaveLength(1);
      expect(bounded(ofRun)).toEqual([]);
      expect(bounded(await planned.plansOf(() => history("thr_1", scope)))).toEqual([]);
    });

    test("no statement reads more than 256 KiB of a thread's history, but for a single run", async () => {
      await using planned = await open();
      const sizes = [100_000, 100_000, 100_000, 300_000, 10, 10];
      await addRuns(planned.engine, sizes);
      const { history } = runReads(planned.engine);
      let read: History | undefined;

      const plans = await planned.plansOf(async () => {
        read = await history("thr_1", { role: undefined, subject: undefined, maxBytes: 1_000_000 });
      });

      expect(read?.entries.map(({ runId }) => runId)).toEqual(sizes.map((_, at) => `run_${at}`));
      // The sizes, and four times texts: two runs, one, the large one, two.
      expect(plans).toHaveLength(5);
    });

    test("a search of the audit log begins at the newest entries and reads a limited number", async () => {
      await using planned = await open();
      const { audit } = createConsoleQueries(planned.engine);
      const commands = auditStore(planned.engine);

      for (const filter of [
        { role: "x" },
        { functionName: "f" },
        { action: "run.succeeded" },
        { action: "call.denied" },
      ]) {
        const plans = await planned.plansOf(() => audit.list("org_1", { limit: 5, ...filter }));
        expect(plans[0]).toMatch(/audit_(by_time|unusual)/);
        expect(bounded(plans)).toEqual([]);
        expect(bounded(await planned.plansOf(() => commands.list({ agentId: "agt_1", limit: 5, ...filter })))).toEqual(
          [],
        );
        expect(bounded(await planned.plansOf(() => commands.list({ orgId: "org_1", limit: 5, ...filter })))).toEqual(
          [],
        );
      }
    });

    test("lists, sums and searches of runs begin in the facts of the agent's time", async () => {
      await using planned = await open();
      const { runs } = createConsoleQueries(planned.engine);
      const filters: RunFilter[] = [
        { status: "failed", role: "x", model: "m", code: "c", source: "api", keyId: "k", requestId: "r" },
        { functionName: "f", trouble: "denied", sessionId: "s", threadId: "t", minDurationMs: 1, minCostUsd: 1 },
        { q: "late order" },
        { q: "run_1" },
      ];
      const range = { from: 1, to: 2 };
      for (const filter of filters) {
        const asked = { ...range, ...filter };
        for (const work of [
          () => runs.list(SCOPE, { limit: 5, ...asked }),
          () => runs.list(SCOPE, { limit: 5, sort: "-costUsd", ...asked }),
          () => runs.totals(SCOPE, asked),
          () => runs.values(SCOPE, range),
        ]) {
          const plans = await planned.plansOf(work);
          // The oldest of 100,000 runs is found in the index, without their rows.
          expect(plans.join("\n")).toMatch(/(COVERING INDEX|Index Only Scan .*)\s?run_facts_by_time/);
          // Runs without facts: an index of the agent would read all its runs.
          for (const index of ["runs_open", "runs_ended"]) expect(plans.join("\n")).toContain(index);
          expect(bounded(plans).filter((scan) => !ALLOWED.test(scan))).toEqual([]);
        }
      }
    });

    test("tags in use are read from the newest feedback and its runs", async () => {
      await using planned = await open();
      const { db } = planned.engine;
      await addRuns(planned.engine, [10, 10, 10]);
      const said = { key_id: "key_1", org_id: "org_1", score: 0, tags: '["late"]', created_at: 0 };
      for (const run_id of ["run_0", "run_1"])
        await db
          .insertInto("feedback")
          .values({ ...said, run_id })
          .execute();
      const { runs } = createConsoleQueries(planned.engine);
      let tags: unknown;

      const plans = await planned.plansOf(async () => ({ tags } = await runs.values(SCOPE, { to: 9 })));

      expect(tags).toEqual([{ value: "late", runs: 2 }]);
      const [feedback = "", tagged = ""] = plans.slice(-2);
      expect(feedback).toContain("feedback_tagged");
      // Not all runs of the agent.
      expect(tagged).toMatch(/sqlite_autoindex_runs|runs_pkey/);
    });

    test("the feedback with a tag is read once, not once for each run", async () => {
      await using planned = await open();
      const { runs } = createConsoleQueries(planned.engine);

      const plans = await planned.plansOf(() => runs.list(SCOPE, { limit: 5, tag: "late" }));

      const filtered = plans.find((plan) => plan.includes("feedback"));
      expect(filtered).toContain("feedback_tagged");
      expect(filtered).toMatch(/LIST SUBQUERY|Group Key: feedback.run_id/);
    });

    test("the queries of an agent are counted in its index, without their rows", async () => {
      await using planned = await open();
      const { agents } = createConsoleQueries(planned.engine);

      const [plan = ""] = await planned.plansOf(() => agents.list("org_1", { limit: 5 }));

      const counted = /(COVERING INDEX|Index Only Scan .*)\s?(runs_of_agent|runs_by_outcome|runs_unsuccessful)/g;
      expect(plan.match(counted)).toHaveLength(3);
    });

    test("ended runs are indexed by their ids and found by the time of their end", async () => {
      await using planned = await open();
      const { index, remembering } = runIndex(planned.engine, upkeep(planned.engine));
      const runs = remembering({
        refuse: async (_run, _refusal) => {},
        commit: async (_lease, _change) => ({ reservedMicros: 0 }),
      });
      const run = sampleRun({ orgId: "org_1", agentId: "agt_1", runId: "run_1" });
      await runs.refuse(run, { code: "internal", event: event(1), result: undefined });

      const stored = await planned.plansOf(() => index.record());
      const caughtUp = await planned.plansOf(() => index.catchUp());

      expect(bounded(stored)).toEqual([]);
      expect(bounded(caughtUp)).toEqual([]);
      expect(caughtUp.join("\n")).toContain("runs_ended");
    });

    test("waiting runs that are due, runs left to their clients, and approvals are found by indexes", async () => {
      await using planned = await open();
      const { list, ofRun } = approvalStore(planned.engine);
      const page = { limit: 5, cursor: toCursor({ at: 5, id: "apr_5" }) };
      const { wake, waiting, claimSuspects } = runClaims(planned.engine);
      const group = { owner: "replica-a", leaseMs: 1_000, limit: 5 };
      const { reattach } = runNotes(planned.engine);
      const found = await planned.plansOf(async () => [await wake(), await waiting(), await reattach("agt_1", "call")]);
      expect((await planned.plansOf(() => claimSuspects(group))).join()).toContain("runs_unowned");
      const pending = await planned.plansOf(() => list({ orgId: "org_1", status: "pending", ...page }));

      for (const index of ["runs_waiting", "runs_unowned", "runs_left"]) expect(found.join(), index).toContain(index);
      expect(pending.join()).toMatch(/approvals_(pending|by_org)/);
      expect(bounded(pending)).toEqual([]);
      expect(
        bounded(await planned.plansOf(() => list({ agentId: "agt_1", visibleTo: { roles: ["a"] }, ...page }))),
      ).toEqual([]);
      expect(bounded(await planned.plansOf(() => ofRun("run_1")))).toEqual([]);
    });

    test("a client's list of runs begins at an index for each filter, and so does what it says of writes", async () => {
      await using planned = await open();
      await addRuns(planned.engine, [10, 10]);
      await planned.engine.db
        .updateTable("runs")
        .set({ status: "failed", manifest_hash: "set", retry_of: "run_0" })
        .where("id", "=", "run_1")
        .execute();
      const { page } = runPages(planned.engine);
      const { retriedBy, newestOf } = retryStore(planned.engine);
      const asked = { limit: 5, cursor: toCursor({ at: 5, id: "run_5" }) };
      const filters = {
        runs_of_agent: {},
        runs_unsuccessful: { status: "failed", code: "provider_error", endedAfterWrites: true },
        runs_by_session: { sessionId: "s" },
        runs_open: { status: "running" },
      } as const;

      for (const [index, filter] of Object.entries(filters)) {
        const plans = await planned.plansOf(() => page("agt_1", { ...asked, ...filter }));
        expect(plans[0], index).toContain(index);
        expect(bounded(plans).filter((scan) => !/runs_open/.test(scan))).toEqual([]);
      }
      const [ofThread = ""] = await planned.plansOf(() => page("agt_1", { ...asked, threadId: "thr_1" }));
      expect(ofThread).not.toMatch(/runs_of_agent|runs_unsuccessful/);
      expect(bounded([ofThread])).toEqual([]);
      const plans = await planned.plansOf(async () => [await retriedBy("run_1"), await newestOf("agt_1", "thr_1")]);
      expect(plans[0]).toContain("runs_retries");
      expect(bounded(plans)).toEqual([]);
    });

    test("due deliveries of webhooks are found by an index, however many wait", async () => {
      await using planned = await open();
      const { due, claim, deliveries } = webhookStore(planned.engine);
      await webhookStore(planned.engine).set({ agentId: "agt_1", orgId: "org_1", url: "https://a", secret: "s" });
      const page = { agentId: "agt_1", limit: 5, cursor: toCursor({ at: 5, id: "whd_5" }) };

      const polled = await planned.plansOf(() => due(["agt_2"]));

      expect(polled.join()).toContain("webhook_deliveries_due");
      expect(bounded(polled).filter((scan) => !/webhooks/.test(scan))).toEqual([]);
      expect(bounded(await planned.plansOf(() => deliveries({ ...page, status: "failed" })))).toEqual([]);
      const claimed = await planned.plansOf(() => claim("agt_1", { limit: 5, leaseMs: 1 }));
      expect(claimed.join()).toContain("webhook_deliveries_due");
      expect(bounded(claimed).filter((scan) => !/\b(due|chosen|webhooks)\b/.test(scan))).toEqual([]);
    });

    test("a sweep finds old rows by an index in every table that grows with queries", async () => {
      await using planned = await open();
      // Audit entries are deleted with their seal, so that without one their statement is not sent.
      const entry = { id: "aud_1", org_id: "org_1", agent_id: "agt_1", action: "agent.created", created_at: 1 };
      await planned.engine.db
        .insertInto("audit")
        .values({ ...EMPTY_ENTRY, ...entry })
        .execute();

      const plans = await planned.plansOf(() => sweep(planned.engine, { days: 30 }));

      const ofFewRows = /console_sessions|sign_in_links|runs_open/;
      expect(bounded(plans).filter((scan) => !ofFewRows.test(scan))).toEqual([]);
      for (const index of [
        "runs_ended",
        "runs_of_agent",
        "audit_by_time",
        "threads_by_update",
        "webhook_deliveries_by_agent",
        "sessions_by_use",
        "idempotency_keys_by_time",
        "usage_by_agent",
        "ledger_by_time",
      ])
        expect(plans.join("\n"), index).toContain(index);
    });
  });

/** Runs `run_0`, `run_1`, … of one thread, with histories of these sizes. */
async function addRuns({ db }: Engine, sizes: readonly number[]): Promise<void> {
  const of = { org_id: "org_1", agent_id: "agt_1" };
  const thread = { ...of, id: "thr_1", title: "", listed: 1, last_position: 6, created_at: 0, updated_at: 0 };
  await db.insertInto("threads").values(thread).execute();
  for (const [at, size] of sizes.entries()) {
    const times = { created_at: 0, finished_at: 0, deadline_at: 0 };
    const counts = { position: at + 1, fence: 1, claims: 0, crashes: 0, last_seq: 0, cancel_requested: 0 };
    const history = JSON.stringify([{ role: "user", text: "x".repeat(size) }]);
    const run = { ...of, ...times, ...counts, id: `run_${at}`, thread_id: "thr_1", key_id: "key_1", history };
    await db
      .insertInto("runs")
      .values({ ...run, kind: "query", status: "succeeded", request: "{}" })
      .execute();
  }
}
