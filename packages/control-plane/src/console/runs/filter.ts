import type { RunStatus } from "@patchbay/protocol";
import type { FigureSource, RunSource } from "@patchbay/protocol/console";
import { type Expression, type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { StoreDialect } from "../../store/engine.ts";
import { olderThan, type PageAsked } from "../../store/page-cursor.ts";
import type { Schema } from "../../store/schema.ts";
import { QUERY_MEMBER } from "../../store/thread-roles.ts";

/** Runs that match every given property. Times are milliseconds of the database's clock; `from` is included, `to` is not. */
export interface RunFilter {
  status?: RunStatus | undefined;
  /** Empty: runs without a role. */
  role?: string | undefined;
  functionName?: string | undefined;
  trouble?: "denied" | "failed" | undefined;
  source?: RunSource | undefined;
  keyId?: string | undefined;
  sessionId?: string | undefined;
  threadId?: string | undefined;
  from?: number | undefined;
  to?: number | undefined;
  /** Part of the query's text, in any case; `run_…` and `thr_…` are beginnings of ids. */
  q?: string | undefined;
}

type Runs = ExpressionBuilder<Schema, "runs">;
type Where = Expression<SqlBool>;

const BY_TIME = { at: "runs.created_at", id: "runs.id" } as const;
const BY_POSITION = { at: "runs.position", id: "runs.id" } as const;
const ID_BEGINNING = /^(run|thr)_\S/;
/** Length of a whole id; a shorter text is the beginning of one. */
const ID_UNITS = "run_".length + 32;

/** Newest first. Runs of one thread are sorted by position, which has an index. */
export function orderOf({ threadId, q }: RunFilter): typeof BY_TIME | typeof BY_POSITION {
  return threadId !== undefined || (isWholeId(q) && q.startsWith("thr_")) ? BY_POSITION : BY_TIME;
}

/** Conditions that an index answers. */
export function indexConditions(
  eb: Runs,
  orgId: string,
  agentId: string,
  filter: RunFilter & Pick<PageAsked, "cursor">,
): Where {
  const { sessionId, threadId, from, to, q, cursor } = filter;
  const all: Where[] = [eb("runs.org_id", "=", orgId), eb("runs.agent_id", "=", agentId)];
  if (sessionId !== undefined) all.push(eb("runs.session_id", "=", sessionId));
  if (threadId !== undefined) all.push(eb("runs.thread_id", "=", threadId));
  if (isWholeId(q)) all.push(eb(q.startsWith("thr_") ? "runs.thread_id" : "runs.id", "=", q));
  if (from !== undefined) all.push(eb("runs.created_at", ">=", from));
  if (to !== undefined) all.push(eb("runs.created_at", "<", to));
  if (cursor !== undefined) all.push(olderThan(cursor, orderOf(filter)));
  return eb.and(all);
}

/** True when rows must be read one by one. */
export function searches({ status, role, functionName, trouble, source, keyId, q }: RunFilter): boolean {
  const named = [status, role, functionName, trouble, source, keyId].some((value) => value !== undefined);
  return named || (q !== undefined && !isWholeId(q));
}

/** Conditions that are checked row by row. */
export function rowConditions(eb: Runs, dialect: StoreDialect, filter: RunFilter): Where[] {
  const { status, role, functionName, trouble, source, keyId, q } = filter;
  const all: Where[] = [];
  if (status !== undefined) all.push(eb("runs.status", "=", status));
  if (role !== undefined) all.push(role === "" ? eb("runs.role", "is", null) : eb("runs.role", "=", role));
  if (keyId !== undefined) all.push(eb("runs.key_id", "=", keyId));
  if (source !== undefined) all.push(from(eb, source));
  if (functionName !== undefined) all.push(eb.exists(callsOf(eb).where("calls.function_name", "=", functionName)));
  // A literal: only then does the database use the partial index of failed and denied calls.
  if (trouble !== undefined) all.push(eb.exists(callsOf(eb).where("calls.state", "=", sql.lit(trouble))));
  if (q !== undefined && !isWholeId(q)) all.push(ID_BEGINNING.test(q) ? idBegins(eb, q) : asks(eb, dialect, q));
  return all;
}

const callsOf = (eb: Runs) => eb.selectFrom("calls").select("calls.id").whereRef("calls.run_id", "=", "runs.id");

function isWholeId(q: string | undefined): q is string {
  return q !== undefined && q.length === ID_UNITS && ID_BEGINNING.test(q);
}

const begins = (column: Expression<string>, prefix: string) =>
  sql<SqlBool>`substr(${column}, 1, ${sql.lit(prefix.length)}) = ${prefix}`;

const idBegins = (eb: Runs, q: string): Where => begins(eb.ref(q.startsWith("run_") ? "runs.id" : "runs.thread_id"), q);

/** Runs of one source. `production` is the queries of clients: all but those that members send from the console. */
export function from(eb: Runs, source: FigureSource): Where {
  const keyId = eb.ref("runs.key_id");
  if (source === "production") return eb.not(begins(keyId, "mem_"));
  if (source === "api") return begins(keyId, "key_");
  if (source === "local") return begins(keyId, "tok_");
  const tried = eb("runs.request", "like", '%,"provider":"test_call","model":"test_call",%');
  return eb.and([begins(keyId, "mem_"), source === "test_call" ? tried : eb.not(tried)]);
}

/**
 * True when the query's text contains `q`. The request's JSON is not parsed, because Postgres rejects JSON with a NUL in any text.
 * Instead the text is cut out between the names of two properties: it cannot contain them, since its own quotes are escaped.
 */
export function asks(eb: Runs, { indexOf }: StoreDialect, q: string): Where {
  const request = eb.ref("runs.request");
  const start = sql<number>`(${indexOf(request, QUERY_MEMBER)} + 9)`;
  const end = indexOf(request, '","context":');
  const text = sql`case when ${end} > ${start} then substr(${request}, ${start}, ${end} - ${start}) else '' end`;
  return sql<SqlBool>`lower(${text}) like lower(cast(${`%${likeLiteral(asInJson(q))}%`} as text)) escape '\\'`;
}

const asInJson = (text: string): string => JSON.stringify(text).slice(1, -1);

export const likeLiteral = (text: string): string => text.replace(/[\\%_]/g, "\\$&");
