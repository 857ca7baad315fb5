import type { FigureSource, RunSource, runFilter } from "@patchbay/protocol/console";
import type { z } from "zod";
import { type Expression, type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { StoreDialect } from "@patchbay/store/engine";
import { between } from "@patchbay/store/runs/run-facts";
import { searchedWords } from "@patchbay/store/runs/run-words";
import type { Schema } from "@patchbay/store/tables/schema";
import { QUERY_MEMBER } from "@patchbay/store/threads/thread-roles";
import { MICROS } from "./summary.ts";
import { type AgentScope, begins, contains } from "../lists.ts";

type AskedFilter = z.output<z.ZodObject<typeof runFilter>>;

/**
 * Runs that match every property. An empty `role` is for runs without one. `q` has words, the last one possibly cut, or
 * the prefix of a run or thread id. Times are milliseconds on the database's clock; `from` is included, `to` is not.
 */
export interface RunFilter extends Omit<AskedFilter, "noRole" | "from" | "to"> {
  from?: number | undefined;
  to?: number | undefined;
}

/** How such feedback's score compares to 0. */
const SCORES = { good: ">", neutral: "=", bad: "<" } as const;

/** A filter from a request. */
export const filterOf = ({ from, to, noRole, role, ...filter }: Partial<AskedFilter>): RunFilter => ({
  ...filter,
  role: noRole === undefined ? role : "",
  from: msOf(from),
  to: msOf(to),
});

export const msOf = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : Date.parse(time);

type Runs = ExpressionBuilder<Schema, "runs">;
type Facts = ExpressionBuilder<Schema, "run_facts">;
type Where = Expression<SqlBool>;

const BY_TIME = { at: "runs.created_at", id: "runs.id" } as const;
const BY_POSITION = { at: "runs.position", id: "runs.id" } as const;
const ID_BEGINNING = /^(run|thr)_\S/;
/** The sources for client requests, as opposed to console members'. */
export const PRODUCTION: readonly RunSource[] = ["api", "local", "direct_call"];

/** Length of a whole id; a shorter text is a prefix. */
const ID_UNITS = "run_".length + 32;

/** Newest first. A thread's runs are sorted by position, which has an index. */
export function orderOf({ threadId, q }: RunFilter): typeof BY_TIME | typeof BY_POSITION {
  return threadId !== undefined || (isWholeId(q) && q.startsWith("thr_")) ? BY_POSITION : BY_TIME;
}

/** Conditions that an index answers. */
export function indexConditions(eb: Runs, { orgId, agentId }: AgentScope, filter: RunFilter): Where {
  const { sessionId, threadId, from, to, q } = filter;
  const all: Where[] = [eb("runs.org_id", "=", orgId), eb("runs.agent_id", "=", agentId)];
  if (sessionId !== undefined) all.push(eb("runs.session_id", "=", sessionId));
  if (threadId !== undefined) all.push(eb("runs.thread_id", "=", threadId));
  if (isWholeId(q)) all.push(eb(q.startsWith("thr_") ? "runs.thread_id" : "runs.id", "=", q));
  if (from !== undefined) all.push(eb("runs.created_at", ">=", from));
  if (to !== undefined) all.push(eb("runs.created_at", "<", to));
  return eb.and(all);
}

/** True when an index on `runs` finds the runs without reading others; for all other filters, run facts are read. */
export function isIndexed({ from: _from, to: _to, sessionId: _session, threadId: _thread, q, ...others }: RunFilter) {
  return (q === undefined || isWholeId(q)) && Object.values(others).every((value) => value === undefined);
}

/** The columns of runs and of their facts that filters compare. */
const COMPARED = {
  status: "status",
  role: "role",
  keyId: "key_id",
  requestId: "request_id",
  sessionId: "session_id",
  threadId: "thread_id",
} as const;

/** Conditions on the columns whose filter has a value; an empty role has none. */
function compared(
  { role, ...filter }: RunFilter,
  columns: { [Name in keyof RunFilter]?: string },
  condition: (column: string, value: unknown) => Where,
): Where[] {
  const values = { ...filter, role: role || undefined };
  const named = Object.entries(columns) as [keyof RunFilter, string][];
  return named.flatMap(([name, column]) => (values[name] === undefined ? [] : [condition(column, values[name])]));
}

/** Conditions on a run itself, without an index: few runs that are read lack facts. */
export function runConditions(eb: Runs, filter: RunFilter): Where[] {
  const { role, source } = filter;
  const all = compared(filter, COMPARED, (column, value) => sql`${sql.ref(`runs.${column}`)} || '' = ${value}`);
  if (role === "") all.push(eb("runs.role", "is", null));
  if (source !== undefined) all.push(from(eb, source));
  return all;
}

/** Conditions on run facts. Only stored facts have words: `words` are those in `q`. */
export function factConditions(eb: Facts, orgId: string, filter: RunFilter): Where[] {
  const { role, functionName, trouble, source, q, minDurationMs, minCostUsd, feedback, tag } = filter;
  const columns = { ...COMPARED, model: "model", code: "code", ...(source !== "production" && { source: "source" }) };
  const all = compared(filter, columns, (column, value) => sql`${sql.ref(`run_facts.${column}`)} = ${value}`);
  if (role === "") all.push(eb("run_facts.role", "is", null));
  const said = eb.selectFrom("feedback").select("feedback.key_id").whereRef("feedback.run_id", "=", "run_facts.run_id");
  if (feedback === "any") all.push(eb.exists(said));
  else if (feedback !== undefined) all.push(eb.exists(said.where("score", SCORES[feedback], 0)));
  if (tag !== undefined) all.push(eb("run_facts.run_id", "in", runsTagged(eb, orgId, tag)));
  if (source === "production") all.push(eb("run_facts.source", "in", PRODUCTION));
  if (functionName !== undefined) all.push(containsExactly(eb.ref("run_facts.functions"), between(functionName)));
  if (trouble === "writes") all.push(eb("run_facts.after_writes", "=", 1));
  else if (trouble !== undefined) all.push(eb(`run_facts.${trouble}_calls`, ">", 0));
  if (minDurationMs !== undefined) all.push(eb("run_facts.duration_ms", ">=", minDurationMs));
  if (minCostUsd !== undefined) all.push(eb("run_facts.cost_micros", ">=", Math.round(minCostUsd * MICROS)));
  if (q !== undefined && isId(q))
    all.push(begins(eb.ref(q.startsWith("run_") ? "run_facts.run_id" : "run_facts.thread_id"), q));
  return all;
}

/**
 * Finds a tag as it is written in the JSON tag list. Grouped, so that Postgres reads the feedback once: it expects most
 * rows to match, and would look up one run's feedback after the other until a page is full.
 */
const runsTagged = (eb: Facts, orgId: string, tag: string) =>
  eb
    .selectFrom("feedback")
    .select("feedback.run_id")
    .where("feedback.org_id", "=", orgId)
    .where("feedback.tags", "is not", null)
    .where(containsExactly(eb.ref("feedback.tags" as never), JSON.stringify(tag)))
    .groupBy("feedback.run_id");

/** The words that `q` searches for; undefined when it is an id or absent. */
export const wordsSearched = ({ q }: RunFilter): string[] | undefined =>
  q === undefined || isId(q) ? undefined : searchedWords(q);

const isId = (q: string): boolean => ID_BEGINNING.test(q);

function isWholeId(q: string | undefined): q is string {
  return q !== undefined && q.length === ID_UNITS && isId(q);
}

/** `like` would ignore the case on SQLite only. */
const containsExactly = (column: Expression<string>, part: string) =>
  sql<SqlBool>`replace(${column}, ${part}, '') <> ${column}`;

/** Runs from one source. `production` means client queries: all except console queries. */
export function from(eb: Runs, source: FigureSource): Where {
  const keyId = eb.ref("runs.key_id");
  const ofMember = begins(keyId, "mem_");
  if (source === "production") return eb.not(ofMember);
  const isCall = eb("runs.kind", "=", "call");
  if (source === "test_call") return eb.and([ofMember, isCall]);
  if (source === "direct_call") return eb.and([eb.not(ofMember), isCall]);
  const prefix = { api: "key_", local: "tok_", playground: "mem_" }[source];
  return eb.and([begins(keyId, prefix), eb.not(isCall)]);
}

/**
 * True when the query text contains `q`. The request's JSON is not parsed, because Postgres rejects JSON with a NUL in
 * any text. Instead the text between two property names is cut out: it cannot contain the names, since its own quotes
 * are escaped.
 */
export function asks(eb: Runs, { indexOf }: StoreDialect, q: string): Where {
  const request = eb.ref("runs.request");
  const start = sql<number>`(${indexOf(request, QUERY_MEMBER)} + 9)`;
  const end = indexOf(request, '","context":');
  const text = sql<string>`case when ${end} > ${start} then substr(${request}, ${start}, ${end} - ${start}) else '' end`;
  return contains(text, asInJson(q));
}

const asInJson = (text: string): string => JSON.stringify(text).slice(1, -1);
