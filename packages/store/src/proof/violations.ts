import { sql } from "kysely";
import type { RunRequest } from "@patchbay/engine/ports/records";
import { checkChain } from "../audit/audit-check.ts";
import { fromJson, type Json, manifestIn } from "../columns.ts";
import type { Engine } from "../engine.ts";
import type { OpenStore } from "../open.ts";
import { oldestFirst, type PageEnd } from "../page-cursor.ts";
import { balanceOf } from "../runs/credits.ts";
import { type CallEvidence, type Compared, compareCalls, type Value } from "./call-checks.ts";
import { CRASHES, FIGURES } from "./figures.ts";

interface Subject {
  orgId: string;
  agentId?: string;
  /** Undefined where the rows are the organisation's. */
  runId?: string;
}
/** How stored rows differ from an invariant. */
export type Difference = Subject & Record<"invariant" | "expected" | "found", string>;

/** Runs whose rows are read together: each may have megabytes of results. */
const RUNS = 20;

/**
 * Checks the invariants that stored rows show. Only reads, in batches; replicas may write meanwhile. `since`: only runs that were
 * created from then on; balances and audit logs as a whole. `notes`: runs that ended with `crash_loop`, which violates nothing.
 */
export async function violations(store: OpenStore, { since = 0 }: { since?: number } = {}) {
  const { engine } = store;
  const proof = { runs: 0, calls: 0, violations: await ofOrganisations(engine), notes: [] as Difference[] };
  for (const { id: agentId } of await engine.reads.selectFrom("agents").select("id").execute()) {
    const all = engine.reads.selectFrom("runs").select(["id", "created_at as at"]).where("agent_id", "=", agentId);
    const some = all.where("created_at", ">=", since).limit(RUNS);
    for (let page: PageEnd[] = await oldestFirst(some).execute(); page.length > 0;) {
      const ids = page.map(({ id }) => id);
      const { calls, found } = await examine(engine, agentId, ids);
      // A row that changes between two reads looks like a violation. A second look does not find the same one.
      const again =
        found.length > 0 ? (await examine(engine, agentId, ids)).found.map((one) => JSON.stringify(one)) : [];
      for (const one of found.filter((difference) => again.includes(JSON.stringify(difference))))
        proof[one.invariant === CRASHES ? "notes" : "violations"].push(one);
      proof.runs += ids.length;
      proof.calls += calls;
      // Not the runs that replicas start meanwhile.
      page = page.length < RUNS ? [] : await oldestFirst(some, page.at(-1)).execute();
    }
  }
  return proof;
}

/** With a webhook since the run began. Retention deletes the oldest deliveries first: while an older one is left, none was deleted. */
const mayBeReported = sql`exists (select 1 from webhooks
  where webhooks.agent_id = runs.agent_id and webhooks.created_at <= runs.created_at) and exists (
  select 1 from webhook_deliveries as older where older.agent_id = runs.agent_id and older.created_at < runs.finished_at)`;
const request = sql<Json<RunRequest> | null>`case when ${mayBeReported} then request end`;
const reports = sql<number | null>`case when ${mayBeReported} then (select count(*) from webhook_deliveries as report
  where report.agent_id = runs.agent_id and type = 'run.ended'
    and report.created_at between runs.finished_at and runs.finished_at + 20000
    and substr(data, 1, length(runs.id) + 11) = '{"runId":"' || runs.id || '"') end`;
/** Texts and answers stay in the database: they may be megabytes. */
const body = sql<CallEvidence["log"][number]["body"]>`case when body like '{"type":"thought"%' then '{}'
  when body like '{"type":"finalResponse"%' then '{}' else body end`.as("body");

async function examine({ reads }: Engine, agentId: string, ids: string[]) {
  const figures = Object.entries(FIGURES);
  const runs = await reads
    .selectFrom("runs")
    .select(["id", "org_id", "role", "kind", "created_at", "finished_at", "manifest_hash"])
    .select([request.as("request"), reports.as("reports")])
    .select(figures.flatMap(([name, pair]) => pair.map((figure, at) => sql.raw<Value>(figure).as(`${name} ${at}`))))
    .where("id", "in", ids)
    .execute();
  const log = await reads.selectFrom("run_events").select(["run_id", body]).where("run_id", "in", ids).execute();
  const calls = await reads.selectFrom("calls").selectAll().where("run_id", "in", ids).orderBy("id").execute();
  const approvals = await reads.selectFrom("approvals").selectAll().where("run_id", "in", ids).orderBy("id").execute();
  const sets = new Map<string | null, CallEvidence["functions"]>();
  const manifests = reads.selectFrom("manifests").select(["hash", "body"]).where("agent_id", "=", agentId);
  const hashes = runs.map((run) => run.manifest_hash ?? "");
  for (const set of await manifests.where("hash", "in", hashes).execute())
    sets.set(set.hash, (await manifestIn(set.body)).functions);
  const found = runs.flatMap((run) => {
    const own = <Row extends { run_id: string }>(rows: Row[]) => rows.filter(({ run_id }) => run_id === run.id);
    const rows = { log: own(log), calls: own(calls), approvals: own(approvals) };
    const compared: Compared[] = figures.map(([name]) => [name, run[`${name} 0`], run[`${name} 1`]]);
    try {
      if (run.request !== null && fromJson(run.request).reported) compared.push(["run.ended reports", 1, run.reports]);
      compared.push(...compareCalls({ run, ...rows, functions: sets.get(run.manifest_hash) }));
    } catch {
      compared.push(["rows are readable", true, false]);
    }
    return differing({ orgId: run.org_id, agentId, runId: run.id }, compared);
  });
  return { calls: calls.length, found };
}

const differing = (subject: Subject, compared: Compared[]): Difference[] =>
  compared
    .filter(([, expected, found]) => expected !== found)
    .map(([invariant, expected, found]) => ({ ...subject, invariant, expected: shown(expected), found: shown(found) }));

const shown = (value: Value): string => String(value ?? "none");

async function ofOrganisations(engine: Engine): Promise<Difference[]> {
  const all: Difference[] = [];
  const entered = sql<number>`(select cast(coalesce(sum(micros), 0) as bigint) from ledger where org_id = orgs.id)`;
  const orgs = engine.reads.selectFrom("orgs").select((eb) => ["id", balanceOf(eb, eb.ref("orgs.id")).as("balance")]);
  for (const { id: orgId, ...org } of await orgs.select(entered.as("entered")).execute()) {
    const compared: Compared[] = [["balance in micro-USD", org.entered, org.balance]];
    for await (const { faults } of checkChain(engine, orgId))
      for (const fault of faults) compared.push(["audit log", "as sealed", fault]);
    all.push(...differing({ orgId }, compared));
  }
  return all;
}
