import type { ThreadPage } from "@patchbay/protocol";
import { type Expression, type ExpressionBuilder, type Insertable, sql, type SqlBool } from "kysely";
import type { NewRun } from "../ports/run-store.ts";
import { isoTime } from "./columns.ts";
import { olderThan, type PageEnd, toCursor } from "./page-cursor.ts";
import type { Engine, StoreDialect } from "./engine.ts";
import type { Schema } from "./schema.ts";
import { statement } from "./statement.ts";

type ThreadSummary = ThreadPage["items"][number];
type NewRoleRow = Omit<Insertable<Schema["thread_roles"]>, "created_at" | "updated_at">;

/** The role of runs without a role, which every key may see. */
export const NO_ROLE = "";
const NEWEST = { at: "updated_at", id: "thread_id" };
/** Pages of candidates read per page of threads. More than one is needed when a thread has runs of several visible roles. */
const MAX_PAGES = 5;

/** Stores that a run of the role starts in the thread. The caller has locked the thread's row. */
export const storeRole = statement((row: NewRoleRow, { db, dialect }) =>
  db
    .insertInto("thread_roles")
    .values({ ...row, created_at: dialect.now, updated_at: dialect.now })
    .onConflict((conflict) =>
      conflict.columns(["thread_id", "role"]).doUpdateSet((eb) => ({
        updated_at: dialect.now,
        session_id: eb.fn.coalesce("excluded.session_id", "thread_roles.session_id"),
        // A query makes the thread of a call listed; a call does not hide that of a query.
        listed: sql<number>`case when excluded.listed = 1 then 1 else thread_roles.listed end`,
      })),
    ),
);

/** The row to store for a run that starts at `position`. */
export const roleRowOf = (run: NewRun, position: number): NewRoleRow => ({
  thread_id: run.threadId,
  role: run.request.role ?? NO_ROLE,
  org_id: run.orgId,
  agent_id: run.agentId,
  session_id: run.sessionId ?? null,
  first_position: position,
  listed: isListed(run),
});

/** Lists have the threads of queries only. */
export const isListed = ({ kind }: Pick<NewRun, "kind">): 0 | 1 => (kind === "query" ? 1 : 0);

/** Stores that a run of the role has ended. */
export const storeRoleEnd = statement((p: { runId: string }, { db, dialect }) => {
  const run = db.selectFrom("runs").where("runs.id", "=", p.runId);
  return db
    .updateTable("thread_roles")
    .set({ updated_at: dialect.now })
    .where("thread_id", "=", run.select("runs.thread_id"))
    .where(
      "role",
      "=",
      run.select((eb) => eb.fn.coalesce("runs.role", sql<string>`${sql.lit(NO_ROLE)}`).as("role")),
    );
});

interface Asked {
  roles: readonly string[];
  limit: number;
  cursor?: string;
  sessionId?: string;
}

/**
 * One page of the threads with runs of these roles or without a role, ordered by the last change of those runs: the time of
 * other roles' runs must not show. A page can be short, even empty, and still have a next one.
 */
export async function threadsOfRoles(
  engine: Engine,
  agentId: string,
  { cursor, ...asked }: Asked,
): Promise<ThreadPage> {
  const { limit, roles } = asked;
  const found: ThreadSummary[] = [];
  const wanted = limit + 1;
  let next = cursor;
  let more = true;
  for (let pages = 0; more && pages < MAX_PAGES && found.length < wanted; pages++) {
    const candidates = await newest(engine, agentId, {
      ...asked,
      limit: wanted,
      ...(next !== undefined && { cursor: next }),
    });
    more = candidates.length === wanted;
    const end = candidates.at(-1);
    if (end) next = toCursor(end);
    const summaries = await summariesOf(engine, [...new Set(candidates.map(({ id }) => id))], roles);
    // A thread has a row per role but is listed once, at its newest visible run. Its other rows are skipped.
    const inPlace = new Set(candidates.map(({ at, id }) => `${isoTime(at)} ${id}`));
    found.push(
      ...summaries.filter(({ updatedAt, threadId }) => inPlace.has(`${updatedAt} ${threadId}`)).toSorted(byUpdate),
    );
  }
  const items = found.slice(0, limit);
  const last = items.at(-1);
  if (found.length > limit && last)
    return { items, nextCursor: toCursor({ at: Date.parse(last.updatedAt), id: last.threadId }) };
  return { items, nextCursor: more && next !== undefined ? next : null };
}

const byUpdate = (a: ThreadSummary, b: ThreadSummary): number =>
  Date.parse(b.updatedAt) - Date.parse(a.updatedAt) || (a.threadId < b.threadId ? 1 : -1);

/** The newest rows of these roles: one index range per role, merged. */
async function newest(
  { reads: db }: Engine,
  agentId: string,
  { roles, limit, cursor, sessionId }: Asked,
): Promise<PageEnd[]> {
  const older = cursor === undefined ? sql`` : sql`and ${olderThan(cursor, NEWEST)}`;
  // A row has only the newest session of its role, so all sessions are looked up in the runs.
  const visible = sql`(role is null or role in (${sql.join([NO_ROLE, ...roles])}))`;
  const inSession =
    sessionId === undefined
      ? sql``
      : sql`and thread_id in
          (select thread_id from runs where agent_id = ${agentId} and session_id = ${sessionId} and ${visible})`;
  const newestFirst = sql`order by updated_at desc, thread_id desc limit ${limit}`;
  const ofRole = [NO_ROLE, ...roles].map(
    (role) => sql`select * from (select updated_at as at, thread_id as id from thread_roles
      where agent_id = ${agentId} and role = ${role} and listed = 1 ${inSession} ${older} ${newestFirst}) as of_role`,
  );
  const all = sql<PageEnd>`${sql.join(ofRole, sql` union all `)} order by at desc, id desc limit ${limit}`;
  return (await all.execute(db)).rows;
}

/**
 * Threads as these roles see them: titled by the first query of these roles, with their sessions and times only. Threads
 * without a visible run are left out.
 */
export async function summariesOf(
  { reads: db, dialect }: Engine,
  threadIds: readonly string[],
  roles: readonly string[],
): Promise<ThreadSummary[]> {
  if (threadIds.length === 0) return [];
  const rows = await db
    .selectFrom("thread_roles")
    .select(["thread_id", "session_id", "created_at", "updated_at"])
    .where("thread_id", "in", threadIds)
    .where("role", "in", [NO_ROLE, ...roles])
    .orderBy("updated_at", "desc")
    .execute();
  const named = await db
    .selectFrom("threads")
    .select("id")
    .select((eb) => firstQuery(eb, dialect, roles).as("request"))
    .where("id", "in", threadIds)
    .execute();
  return named.flatMap(({ id, request }) => {
    const ofThread = rows.filter(({ thread_id }) => thread_id === id);
    const [newest] = ofThread;
    if (request === null || newest === undefined) return [];
    return {
      threadId: id,
      sessionId: ofThread.find(({ session_id }) => session_id !== null)?.session_id ?? null,
      title: titleIn(request),
      createdAt: isoTime(Math.min(...ofThread.map(({ created_at }) => created_at))),
      updatedAt: isoTime(newest.updated_at),
    };
  });
}

/** The first visible query of a thread. The search starts at the stored position; that run may have been deleted since. */
function firstQuery(eb: ExpressionBuilder<Schema, "threads">, { indexOf }: StoreDialect, roles: readonly string[]) {
  const first = eb
    .selectFrom("thread_roles")
    .select((inner) => inner.fn.min("thread_roles.first_position").as("first"))
    .whereRef("thread_roles.thread_id", "=", "threads.id")
    .where("thread_roles.role", "in", [NO_ROLE, ...roles]);
  return eb
    .selectFrom("runs")
    .select((inner) => {
      const request = inner.ref("runs.request");
      const start = indexOf(request, QUERY_MEMBER);
      return sql<string>`substr(${request}, ${start}, ${sql.lit(TITLED_CHARS)})`.as("request");
    })
    .whereRef("runs.thread_id", "=", "threads.id")
    .where("runs.position", ">=", first)
    .where((inner) => ofRoles(inner, roles))
    .orderBy("runs.position")
    .limit(1);
}

/** Condition for runs of these roles and runs without a role. */
export function ofRoles<T extends keyof Schema>(
  eb: ExpressionBuilder<Schema, T | "runs">,
  roles: readonly string[],
): Expression<SqlBool> {
  const runs = eb as ExpressionBuilder<Schema, "runs">;
  const roleless = runs("runs.role", "is", null);
  return roles.length === 0 ? roleless : runs.or([roleless, runs("runs.role", "in", roles)]);
}

const TITLE_UNITS = 80;
const HALF_CHARACTER = /[\uD800-\uDBFF]$/;

/** The title of a thread: the beginning of its first query. */
export function titleOf({ query }: { query: string }): string {
  return beginningOf(query, TITLE_UNITS);
}

/** The text before the query in a stored request. No string contains it, because its quotes would be escaped. */
export const QUERY_MEMBER = '"query":"';
/** Characters after that which contain the title. An escaped character takes up to six. */
export const TITLED_CHARS = QUERY_MEMBER.length + 6 * TITLE_UNITS;

/**
 * The title from the part of a stored request that begins with its query. Queries have up to 100,000 characters; a page of a
 * hundred threads must not read and parse them all.
 */
export function titleIn(part: string): string {
  const [, written = ""] = /^"query":"((?:[^"\\]|\\.)*)/s.exec(part) ?? [];
  // The text may end in the middle of an escape.
  for (let end = written.length; end > 0; end--) {
    try {
      return titleOf({ query: JSON.parse(`"${written.slice(0, end)}"`) as string });
    } catch {
      continue;
    }
  }
  return "";
}

/** The first `units` of a text, without half of a surrogate pair at the end. */
export function beginningOf(text: string, units: number): string {
  return text.slice(0, units).replace(HALF_CHARACTER, "");
}
