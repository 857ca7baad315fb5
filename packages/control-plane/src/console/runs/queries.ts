import type { ErrorReport } from "@patchbay/protocol";
import type { RunFeedback, LogEvent, RunSummary, RunTotals, RunValues } from "@patchbay/protocol/console";
import { type Selectable, sql } from "kysely";
import type { CallRecord, RunEnding, RunRecord, TurnRecord, TurnTiming } from "../../ports/records.ts";
import type { History } from "../../ports/run-store.ts";
import { errorsOf } from "../../store/call-errors.ts";
import { fromJson, isoTime, withoutNulls } from "../../store/columns.ts";
import type { Engine } from "../../store/engine.ts";
import { type HistoryScope, readHistory } from "../../store/history.ts";
import { pageFrom, type PageAsked, type PageOf, parseCursor, toCursor } from "../../store/page-cursor.ts";
import { feedbackOf } from "../../store/feedback.ts";
import { rerunsOf } from "../../store/reruns.ts";
import { RUN_COLUMNS, toRunRecord } from "../../store/run-record.ts";
import { CALL_COLUMNS, toCallRecord, toTurnRecord, turnsOf } from "../../store/runs-read.ts";
import type { Schema } from "../../store/schema.ts";
import { listByFacts, type Sorted, totalsOf, valuesOf } from "./facts.ts";
import { namesOf } from "../names.ts";
import { indexConditions, isIndexed, orderOf, type RunFilter } from "./filter.ts";
import { type SummarisedRun, summarised, toSummaries } from "./summary.ts";

/** Characters of the events of one page; an event may have 256 KiB. */
const LOG_UNITS = 1_048_576;

export interface TimedTurn extends TurnRecord {
  /** When it was stored: a turn is stored at its end. */
  endedAt: number;
  /** Absent where the turn has no timing. */
  timing?: TurnTiming;
}

export interface TimedCall extends CallRecord {
  /** When the call was stored, before it was sent. */
  createdAt: number;
  finishedAt?: number;
}

/** Everything that is stored of a run except its events, at one time of the database's clock. */
export interface RunParts {
  now: number;
  run: Omit<RunRecord, "result"> & { result?: RunEnding };
  summary: RunSummary;
  turns: TimedTurn[];
  calls: TimedCall[];
  /** The turn that was requested and had not arrived when the run ended. */
  unanswered?: TurnTiming;
  /** Ids of the runs that repeat it, newest first. */
  reruns: string[];
  feedback: RunFeedback[];
  /** Name of the member or label of the key that sent the query. */
  sender?: string;
  /** Names of runtimes, by id. */
  runtimes: ReadonlyMap<string, string>;
  /** What the owner's code threw, by call. */
  errors: ReadonlyMap<string, ErrorReport>;
  /** When each replica that resumed the run stored its first step. */
  resumedAt: number[];
}

/** Runs of an agent. */
export function runQueries(engine: Engine) {
  return {
    /** Newest first, or in the order of `sort`. */
    list: (orgId: string, agentId: string, asked: RunFilter & Sorted & PageAsked): Promise<PageOf<RunSummary>> =>
      list(engine, orgId, agentId, asked),

    totals: (orgId: string, agentId: string, filter: RunFilter): Promise<RunTotals> =>
      totalsOf(engine, { orgId, agentId }, filter),

    values: (orgId: string, agentId: string, range: Pick<RunFilter, "from" | "to">): Promise<RunValues> =>
      valuesOf(engine, { orgId, agentId }, range),

    parts: (orgId: string, agentId: string, runId: string): Promise<RunParts | undefined> =>
      parts(engine, orgId, agentId, runId),

    /** Earlier runs of a thread, as a run's model may be sent them. */
    history: (scope: HistoryScope): Promise<History> => readHistory(engine, scope),

    /** Stored events, oldest first, at most about 1 MiB of them. Undefined for an unknown run. */
    async log(orgId: string, agentId: string, runId: string, asked: PageAsked): Promise<PageOf<LogEvent> | undefined> {
      const run = await acceptedRun(engine, orgId, agentId, runId);
      return run && log(engine, run, asked);
    },
  };
}

async function list(
  engine: Engine,
  orgId: string,
  agentId: string,
  { sort, ...asked }: RunFilter & Sorted & PageAsked,
): Promise<PageOf<RunSummary>> {
  const { limit, cursor: _cursor, ...filter } = asked;
  if (sort !== undefined || !isIndexed(filter)) return listByFacts(engine, { orgId, agentId }, { sort, ...asked });
  const { at, id } = orderOf(filter);
  const rows = await summarised(engine)
    .where((eb) => indexConditions(eb, orgId, agentId, asked))
    .orderBy(at, "desc")
    .orderBy(id, "desc")
    .limit(limit + 1)
    .execute();
  const endOf = (row: SummarisedRun) => ({ at: at === "runs.position" ? row.position : row.created_at, id: row.id });
  const page = pageFrom(rows, { limit, floor: undefined, endOf });
  return { items: await toSummaries(engine, page.rows), nextCursor: page.nextCursor };
}

type AcceptedRun = Pick<Selectable<Schema["runs"]>, "id" | "created_at">;

function acceptedRun(engine: Engine, orgId: string, agentId: string, runId: string): Promise<AcceptedRun | undefined> {
  return engine.db
    .selectFrom("runs")
    .select(["id", "created_at"])
    .where("id", "=", runId)
    .where("org_id", "=", orgId)
    .where("agent_id", "=", agentId)
    .executeTakeFirst();
}

async function parts(engine: Engine, orgId: string, agentId: string, runId: string): Promise<RunParts | undefined> {
  const { db } = engine;
  const row = await summarised(engine)
    .select(RUN_COLUMNS.filter((column) => column !== "result"))
    .select(["runs.unanswered", "runs.ending"])
    .where("runs.id", "=", runId)
    .where((eb) => indexConditions(eb, orgId, agentId, {}))
    .executeTakeFirst();
  if (!row) return undefined;
  const [summaries, turns, calls, errors, reruns, feedback, names, runtimes, resumed] = await Promise.all([
    toSummaries(engine, [row]),
    turnsOf({ db }, runId),
    db
      .selectFrom("calls")
      .select(CALL_COLUMNS)
      .where("run_id", "=", runId)
      .orderBy("step")
      .orderBy("position")
      .execute(),
    errorsOf({ db }, runId),
    rerunsOf({ db }, runId),
    feedbackOf({ db }, runId),
    namesOf(engine, orgId, [row.key_id]),
    runtimesOf({ db }, agentId, runId),
    db
      .selectFrom("audit")
      .select("created_at")
      .where("run_id", "=", runId)
      .where("action", "=", "run.resumed")
      .orderBy("created_at")
      .execute(),
  ]);
  return {
    now: row.now,
    run: { ...toRunRecord({ ...row, result: null }), ...(row.ending !== null && { result: fromJson(row.ending) }) },
    summary: summaries[0]!,
    turns: turns.map((turn) => ({
      ...toTurnRecord(turn),
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
      ...toCallRecord(call),
      createdAt: call.created_at,
      ...withoutNulls({ finishedAt: call.finished_at }),
    })),
    errors,
    reruns,
    feedback,
    ...withoutNulls({ sender: names.get(row.key_id) }),
    runtimes,
    resumedAt: resumed.map((entry) => entry.created_at),
    ...(row.unanswered !== null && { unanswered: fromJson(row.unanswered) }),
  };
}

/** Names of the runtimes that ran calls of a run, by id: their host and deployment, where the store still has them. */
async function runtimesOf({ db }: Pick<Engine, "db">, agentId: string, runId: string): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom("runtimes")
    .select(["instance_id", "host", "deployment"])
    .where("agent_id", "=", agentId)
    .where("instance_id", "in", (eb) =>
      eb.selectFrom("calls").select("calls.instance_id").where("run_id", "=", runId).$castTo<{ instance_id: string }>(),
    )
    .execute();
  return new Map(
    rows.flatMap(({ instance_id, host, deployment }) => {
      const name = [host, deployment].filter((part) => part !== null).join(" · ");
      return name === "" ? [] : [[instance_id, name] as const];
    }),
  );
}

async function log({ db }: Engine, run: AcceptedRun, { limit, cursor }: PageAsked): Promise<PageOf<LogEvent>> {
  const after = cursor === undefined ? 0 : parseCursor(cursor).at;
  const rows = await db
    .selectFrom("run_events")
    .select(["seq", "body", "created_at"])
    .where("run_id", "=", run.id)
    // The number of a forged cursor may exceed the column's type.
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
    nextCursor: last && rows.length > page.length ? toCursor({ at: last.seq, id: run.id }) : null,
  };
}
