import { isoTime, present } from "@patchbay/kit";
import type { LogEvent, RunSummary } from "@patchbay/protocol/console";
import { sql } from "kysely";
import type { RunEnding, RunRecord } from "@patchbay/engine/ports/records";
import { errorsOf } from "@patchbay/store/calls/call-errors";
import { fromJson, withoutNulls } from "@patchbay/store/columns";
import type { Engine } from "@patchbay/store/engine";
import { newestPage, type PageAsked, type PageOf, parseCursor, toCursor } from "@patchbay/store/page-cursor";
import { feedbackOf, rerunsOf } from "@patchbay/store/runs/run-notes";
import { retryStore } from "@patchbay/store/runs/retries";
import { callColumns } from "@patchbay/store/tables/calls";
import { runColumns } from "@patchbay/store/tables/runs";
import { turnOf } from "@patchbay/store/tables/turns";
import { turnsOf } from "@patchbay/store/runs/runs-read";
import { listByFacts, type Sorted } from "./facts.ts";
import type { AgentScope } from "../lists.ts";
import { namesOf } from "../names.ts";
import { indexConditions, isIndexed, orderOf, type RunFilter } from "./filter.ts";
import { summarised, toSummaries } from "./summary.ts";
import { is } from "@patchbay/store/statement";

/** Characters of events per page; an event may have 256 KiB. */
const LOG_UNITS = 1_048_576;

export type RunParts = NonNullable<Awaited<ReturnType<typeof runParts>>>;
export type TimedTurn = RunParts["turns"][number];
export type TimedCall = RunParts["calls"][number];

/** An agent's runs, newest first or in `sort` order. */
export async function listRuns(
  engine: Engine,
  scope: AgentScope,
  { sort, ...asked }: RunFilter & Sorted & PageAsked,
): Promise<PageOf<RunSummary> & { indexedTo?: string }> {
  const { limit, cursor, ...filter } = asked;
  if (sort !== undefined || !isIndexed(filter)) return listByFacts(engine, scope, { sort, ...asked });
  const found = summarised(engine).where((eb) => indexConditions(eb, scope, filter));
  const { items, nextCursor } = await newestPage(found, { limit, cursor }, orderOf(filter));
  return { items: await toSummaries(engine, items), nextCursor };
}

/** Everything stored about a run except its events, at one time on the database's clock. Undefined for an unknown run. */
export async function runParts(engine: Engine, scope: AgentScope, runId: string) {
  const { db } = engine;
  const row = await summarised(engine)
    .select(runColumns.names.filter((column) => column !== "result"))
    .select(["runs.unanswered", "runs.ending"])
    .where("runs.id", "=", runId)
    .where((eb) => indexConditions(eb, scope, {}))
    .executeTakeFirst();
  if (!row) return undefined;
  const [summaries, turns, calls, errors, reruns, retriedBy, feedback, names, runtimes, resumed] = await Promise.all([
    toSummaries(engine, [row]),
    turnsOf({ db }, runId),
    db
      .selectFrom("calls")
      .select([...callColumns.names, "created_at", "finished_at"])
      .where("run_id", "=", runId)
      .orderBy("step")
      .orderBy("position")
      .execute(),
    errorsOf({ db }, runId),
    rerunsOf({ db }, runId),
    retryStore(engine).retriedBy(runId),
    feedbackOf({ db }, runId),
    namesOf(engine, scope.orgId, [row.key_id]),
    runtimesOf({ db }, scope.agentId, runId),
    db
      .selectFrom("audit")
      .select("created_at")
      .where(is({ run_id: runId, action: "run.resumed" }))
      .orderBy("created_at")
      .execute(),
  ]);
  const run: Omit<RunRecord, "result"> & { result?: RunEnding } = {
    ...runColumns.recordOf({ ...row, result: null }),
    ...(row.ending !== null && { result: fromJson(row.ending) }),
  };
  return {
    now: row.now,
    run,
    summary: summaries[0]!,
    turns: turns.map((turn) => ({
      ...turnOf(turn),
      /** When the turn was stored, at its end. */
      endedAt: turn.created_at,
      ...(turn.began_at !== null && {
        timing: {
          beganAt: turn.began_at,
          retries: turn.retries === null ? [] : fromJson(turn.retries),
          ...withoutNulls({ firstTokenMs: turn.first_token_ms }),
        },
      }),
    })),
    calls: calls.map((call) => ({
      ...callColumns.recordOf(call),
      /** When the call was stored, before it was sent. */
      createdAt: call.created_at,
      ...withoutNulls({ finishedAt: call.finished_at }),
    })),
    /** Errors thrown by the owner's code, by call. */
    errors,
    /** Ids of its repetitions, newest first. */
    reruns,
    ...present({ retriedBy }),
    feedback,
    /** The sender's member name or key label. */
    ...withoutNulls({ sender: names.get(row.key_id) }),
    /** Runtime names by id. */
    runtimes,
    /** When each replica that resumed the run stored its first step. */
    resumedAt: resumed.map((entry) => entry.created_at),
    /** The requested turn that had not arrived when the run ended. */
    ...(row.unanswered !== null && { unanswered: fromJson(row.unanswered) }),
  };
}

/** Names for the runtimes that ran a run's calls, by id: their host and deployment, if still stored. */
async function runtimesOf({ db }: Pick<Engine, "db">, agentId: string, runId: string): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom("runtimes")
    .select(["instance_id", sql<string | null>`coalesce(host || ' · ' || deployment, host, deployment)`.as("name")])
    .where("agent_id", "=", agentId)
    .where("instance_id", "in", (eb) =>
      eb.selectFrom("calls").select("calls.instance_id").where("run_id", "=", runId).$castTo<{ instance_id: string }>(),
    )
    .execute();
  return new Map(rows.flatMap(({ instance_id, name }) => (name ? [[instance_id, name]] : [])));
}

/** Stored events, oldest first, at most about 1 MiB. Undefined for an unknown run. */
export async function runLog(
  { db }: Engine,
  { orgId, agentId }: AgentScope,
  runId: string,
  { limit, cursor }: PageAsked,
): Promise<PageOf<LogEvent> | undefined> {
  const known = is<"runs">({ id: runId, org_id: orgId, agent_id: agentId });
  const run = await db.selectFrom("runs").select("created_at").where(known).executeTakeFirst();
  if (!run) return undefined;
  const after = cursor === undefined ? 0 : parseCursor(cursor).at;
  const rows = await db
    .selectFrom("run_events")
    .select(["seq", "body", "created_at"])
    .where("run_id", "=", runId)
    // A forged cursor's number may exceed the column's type.
    .where("seq", ">", sql<number>`cast(${after} as bigint)`)
    .orderBy("seq")
    .limit(limit + 1)
    .execute();
  let units = 0;
  const page = rows.slice(0, limit).filter(({ body }, i) => (units += body.length) <= LOG_UNITS || i === 0);
  const last = page.at(-1);
  return {
    items: page.map(({ seq, body, created_at: at }) => ({
      seq,
      at: isoTime(at),
      afterMs: Math.max(0, at - run.created_at),
      body,
    })),
    nextCursor: last && rows.length > page.length ? toCursor({ at: last.seq, id: runId }) : null,
  };
}
