import type { RunSource } from "@patchbay/protocol/console";
import { type Expression, type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { PageAsked, RunFilter } from "../../ports/console-runs.ts";
import { QUERY_MEMBER } from "../thread-title.ts";
import type { StoreDialect } from "../dialect/dialect.ts";
import type { Schema } from "../schema.ts";
import { olderThan } from "./keyset.ts";

type Runs = ExpressionBuilder<Schema, "runs">;
type Where = Expression<SqlBool>;

const BY_TIME = { at: "runs.created_at", id: "runs.id" } as const;
const BY_POSITION = { at: "runs.position", id: "runs.id" } as const;
const ID_BEGINNING = /^(run|thr)_\S/;
/** An id is this long; a shorter one is a beginning. */
const ID_UNITS = "run_".length + 32;

/** Newest first. Within a thread that is the order of its runs, which the thread's index holds. */
export function orderOf({ threadId, q }: RunFilter): typeof BY_TIME | typeof BY_POSITION {
  return threadId !== undefined || (isWholeId(q) && q.startsWith("thr_")) ? BY_POSITION : BY_TIME;
}

/** What an index finds. */
export function indexed(
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

/** True where rows must be looked at one by one. */
export function searches({ status, role, functionName, trouble, source, keyId, q }: RunFilter): boolean {
  const named = [status, role, functionName, trouble, source, keyId].some((value) => value !== undefined);
  return named || (q !== undefined && !isWholeId(q));
}

/** What is looked at row by row. */
export function looked(eb: Runs, dialect: StoreDialect, filter: RunFilter): Where[] {
  const { status, role, functionName, trouble, source, keyId, q } = filter;
  const all: Where[] = [];
  if (status !== undefined) all.push(eb("runs.status", "=", status));
  if (role !== undefined) all.push(role === "" ? eb("runs.role", "is", null) : eb("runs.role", "=", role));
  if (keyId !== undefined) all.push(eb("runs.key_id", "=", keyId));
  if (source !== undefined) all.push(from(eb, source));
  if (functionName !== undefined) all.push(eb.exists(callsOf(eb).where("calls.function_name", "=", functionName)));
  // As a word of the statement: only then is it known to be one of those that the index holds.
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

function from(eb: Runs, source: RunSource): Where {
  const keyId = eb.ref("runs.key_id");
  if (source === "api") return begins(keyId, "key_");
  if (source === "local") return begins(keyId, "tok_");
  const tried = eb("runs.request", "like", '%,"provider":"trial","model":"trial",%');
  return eb.and([begins(keyId, "mem_"), source === "trial" ? tried : eb.not(tried)]);
}

/**
 * The query's text holds `q`. The JSON of a request is not parsed for it, which Postgres refuses to do where a NUL stands in
 * any text: the text stands between the names of two members, which no text can hold, since its own quotes are escaped.
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
