import type { LogEvent, RunSummary } from "@patchbay/protocol/console";
import { sql } from "kysely";
import type { PageAsked, PageOf, RunFilter, RunParts, RunReads } from "../../ports/console-runs.ts";
import { fromJson, isoTime, present } from "../columns.ts";
import { parseCursor, toCursor } from "../page-cursor.ts";
import { ENDING, RUN_COLUMNS, toRunRecord } from "../run-record.ts";
import { CALL_COLUMNS, toCallRecord, toTurnRecord, turnsOf } from "../runs-read.ts";
import type { Engine } from "../schema.ts";
import { pageFrom } from "./keyset.ts";
import { indexed, looked, orderOf, searches } from "./run-filter.ts";
import { type SummarisedRun, summarised, toSummaries } from "./run-summary.ts";

/** Rows that one page looks at when no index finds what is asked for: a search goes on where the last one ended. */
const LOOKED_AT = 10_000;
/** Text of the events of one page; an event may have 256 KiB. */
const LOG_UNITS = 1_048_576;

/** Runs as the console shows them. */
export function runReads(engine: Engine): RunReads {
  return {
    list: (orgId, agentId, asked) => list(engine, orgId, agentId, asked),

    parts: (orgId, agentId, runId) => parts(engine, orgId, agentId, runId),

    async log(orgId, agentId, runId, asked) {
      return (await exists(engine, orgId, agentId, runId)) ? log(engine, runId, asked) : undefined;
    },
  };
}

async function list(
  engine: Engine,
  orgId: string,
  agentId: string,
  { limit, ...filter }: RunFilter & PageAsked,
): Promise<PageOf<RunSummary>> {
  const { at, id } = orderOf(filter);
  const floor = await floorOf(engine, orgId, agentId, filter);
  const rows = await summarised(engine)
    .where((eb) => indexed(eb, orgId, agentId, filter))
    .where((eb) => eb.and(looked(eb, engine.dialect, filter)))
    .$if(floor !== undefined, (bounded) => bounded.where(at, ">=", floor!))
    .orderBy(at, "desc")
    .orderBy(id, "desc")
    .limit(limit + 1)
    .execute();
  const endOf = (row: SummarisedRun) => ({ at: at === "runs.position" ? row.position : row.created_at, id: row.id });
  const page = pageFrom(rows, { limit, floor, endOf });
  return { items: await toSummaries(engine, page.rows), nextCursor: page.nextCursor };
}

/** Where the oldest run stands that a search may look at; undefined where it may look at all there are. */
async function floorOf(
  { db }: Engine,
  orgId: string,
  agentId: string,
  filter: Omit<RunFilter & PageAsked, "limit">,
): Promise<number | undefined> {
  if (!searches(filter)) return undefined;
  const { at } = orderOf(filter);
  const row = await db
    .selectFrom("runs")
    .select(`${at} as at`)
    .where((eb) => indexed(eb, orgId, agentId, filter))
    .orderBy(at, "desc")
    .limit(1)
    .offset(LOOKED_AT)
    .executeTakeFirst();
  return row?.at;
}

async function exists({ db }: Engine, orgId: string, agentId: string, runId: string): Promise<boolean> {
  const row = await db
    .selectFrom("runs")
    .select("id")
    .where("id", "=", runId)
    .where("org_id", "=", orgId)
    .where("agent_id", "=", agentId)
    .executeTakeFirst();
  return row !== undefined;
}

async function parts(engine: Engine, orgId: string, agentId: string, runId: string): Promise<RunParts | undefined> {
  const { db } = engine;
  const row = await summarised(engine)
    .select(RUN_COLUMNS.filter((column) => column !== "result"))
    .select(["runs.unanswered", ENDING.as("ending")])
    .where("runs.id", "=", runId)
    .where((eb) => indexed(eb, orgId, agentId, {}))
    .executeTakeFirst();
  if (!row) return undefined;
  const [summaries, turns, calls, resumed] = await Promise.all([
    toSummaries(engine, [row]),
    turnsOf({ db }, runId),
    db
      .selectFrom("calls")
      .select(CALL_COLUMNS)
      .where("run_id", "=", runId)
      .orderBy("step")
      .orderBy("position")
      .execute(),
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
        timing: { beganAt: turn.began_at, retries: turn.retries === null ? [] : fromJson(turn.retries) },
      }),
    })),
    calls: calls.map((call) => ({
      ...toCallRecord(call),
      createdAt: call.created_at,
      ...present({ finishedAt: call.finished_at }),
    })),
    resumedAt: resumed.map((entry) => entry.created_at),
    ...(row.unanswered !== null && { unanswered: fromJson(row.unanswered) }),
  };
}

async function log({ db }: Engine, runId: string, { limit, cursor }: PageAsked): Promise<PageOf<LogEvent>> {
  const after = cursor === undefined ? 0 : parseCursor(cursor).at;
  const rows = await db
    .selectFrom("run_events")
    .select(["seq", "body", "created_at"])
    .where("run_id", "=", runId)
    // A forged cursor may name a number that the column cannot have.
    .where("seq", ">", sql<number>`cast(${after} as bigint)`)
    .orderBy("seq")
    .limit(limit + 1)
    .execute();
  let units = 0;
  const page = rows.slice(0, limit).filter(({ body }, i) => (units += body.length) <= LOG_UNITS || i === 0);
  const last = page.at(-1);
  return {
    items: page.map(({ seq, body, created_at }) => ({ seq, at: isoTime(created_at), body })),
    nextCursor: last && rows.length > page.length ? toCursor({ at: last.seq, id: runId }) : null,
  };
}
