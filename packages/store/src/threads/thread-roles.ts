import { isoTime } from "@patchbay/kit";
import type { ThreadPage } from "@patchbay/protocol";
import { expressionBuilder, type ExpressionBuilder, type Insertable, sql } from "kysely";
import type { VisibleTo } from "@patchbay/engine/ports/callers";
import type { NewRun } from "@patchbay/engine/ports/store/run-store";
import { byNewest, olderThan, type PageEnd, pageFrom, toCursor } from "../page-cursor.ts";
import type { Engine, StoreDialect } from "../engine.ts";
import type { Schema, ThreadRow } from "../tables/schema.ts";
import { statement } from "../statement.ts";
import { visibleRuns } from "./visible.ts";

type ThreadSummary = ThreadPage["items"][number];
type NewRoleRow = Omit<Insertable<Schema["thread_roles"]>, "created_at" | "updated_at">;

/** The role for runs without a role, which every key may see. */
export const NO_ROLE = "";
const NEWEST = { at: "updated_at", id: "thread_id" };
/** Candidate pages read per thread page. More than one is needed when a thread has runs in several visible roles. */
const MAX_PAGES = 5;

/** Stores that a run with the role starts in the thread. The caller has locked the thread's row. */
export const storeRole = statement((row: NewRoleRow, { db, dialect }) =>
  db
    .insertInto("thread_roles")
    .values({ ...row, created_at: dialect.now, updated_at: dialect.now })
    .onConflict((conflict) =>
      conflict.columns(["thread_id", "role"]).doUpdateSet((eb) => ({
        updated_at: dialect.now,
        session_id: eb.fn.coalesce("excluded.session_id", "thread_roles.session_id"),
        // A query makes a call's thread listed; a call does not hide a query's.
        listed: sql<number>`case when excluded.listed = 1 then 1 else thread_roles.listed end`,
      })),
    ),
);

/** The row to store for a run that starts at its thread's last position. */
export const roleRowOf = (run: NewRun, thread: Pick<ThreadRow, "last_position" | "caller_id">): NewRoleRow => ({
  thread_id: run.threadId,
  role: run.request.role ?? NO_ROLE,
  org_id: run.orgId,
  agent_id: run.agentId,
  session_id: run.sessionId ?? null,
  first_position: thread.last_position,
  listed: isListed(run),
  caller_id: thread.caller_id,
});

/** Lists show query threads only. */
export const isListed = ({ kind }: Pick<NewRun, "kind">): 0 | 1 => (kind === "query" ? 1 : 0);

/** Stores that a run with the role has ended. */
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

interface Asked extends OfRoles {
  limit: number;
  cursor?: string | undefined;
  sessionId?: string;
}

type OfRoles = VisibleTo & { roles: readonly string[] };

/**
 * One page of threads with runs in these roles or without a role, ordered by the last change of those runs: the time of
 * runs in other roles must not show. A page can be short, even empty, and still have a next one.
 */
export async function threadsOfRoles(
  engine: Engine,
  agentId: string,
  { cursor, ...asked }: Asked,
): Promise<ThreadPage> {
  const { limit } = asked;
  const found: ThreadSummary[] = [];
  const wanted = limit + 1;
  let next = cursor;
  let more = true;
  for (let pages = 0; more && pages < MAX_PAGES && found.length < wanted; pages++) {
    const candidates = await newest(engine, agentId, { ...asked, limit: wanted, cursor: next });
    more = candidates.length === wanted;
    const end = candidates.at(-1);
    if (end) next = toCursor(end);
    const summaries = await summariesOf(engine, [...new Set(candidates.map(({ id }) => id))], asked);
    // A thread has a row per role but is listed once, at its newest visible run. Its other rows are skipped.
    const inPlace = new Set(candidates.map(({ at, id }) => `${isoTime(at)} ${id}`));
    const newestOfEach = summaries.filter(({ updatedAt, threadId }) => inPlace.has(`${updatedAt} ${threadId}`));
    found.push(...newestOfEach.toSorted((a, b) => byNewest(endOf(a), endOf(b))));
  }
  const { rows: items, nextCursor } = pageFrom(found, { limit, endOf });
  return { items, nextCursor: nextCursor ?? (more ? (next ?? null) : null) };
}

const endOf = ({ updatedAt, threadId: id }: ThreadSummary): PageEnd => ({ at: Date.parse(updatedAt), id });

/** The newest rows for these roles: one index range per role and caller id, merged. */
async function newest(
  { reads: db }: Engine,
  agentId: string,
  { roles, callers, limit, cursor, sessionId }: Asked,
): Promise<PageEnd[]> {
  const older = cursor === undefined ? sql`` : sql`and ${olderThan(cursor, NEWEST)}`;
  // A row has only its role's newest session, so all sessions are looked up in the runs.
  const visible = visibleRuns(expressionBuilder<Schema, "runs">(), { roles, callers });
  const inSession =
    sessionId === undefined
      ? sql``
      : sql`and thread_id in
          (select thread_id from runs where agent_id = ${agentId} and session_id = ${sessionId} and ${visible})`;
  const newestFirst = sql`order by updated_at desc, thread_id desc limit ${limit}`;
  const owners = callers?.map((caller) => sql`and caller_id = ${caller}`) ?? [sql``];
  const ofRole = [NO_ROLE, ...roles].flatMap((role) =>
    owners.map(
      (ofOwner) => sql`select * from (select updated_at as at, thread_id as id from thread_roles
        where agent_id = ${agentId} and role = ${role} and listed = 1 ${ofOwner} ${inSession} ${older} ${newestFirst}) as of_role`,
    ),
  );
  const all = sql<PageEnd>`${sql.join(ofRole, sql` union all `)} order by at desc, id desc limit ${limit}`;
  return (await all.execute(db)).rows;
}

/**
 * Threads as these roles see them: titled by the first query in these roles, with their sessions and times only.
 * Threads without a visible run are left out. The threads belong to `callers`.
 */
export async function summariesOf(
  { reads: db, dialect }: Engine,
  threadIds: readonly string[],
  visibleTo: OfRoles,
): Promise<ThreadSummary[]> {
  if (threadIds.length === 0) return [];
  const rows = await db
    .selectFrom("thread_roles")
    .select(["thread_id", "session_id", "created_at", "updated_at"])
    .where("thread_id", "in", threadIds)
    .where("role", "in", [NO_ROLE, ...visibleTo.roles])
    .orderBy("updated_at", "desc")
    .execute();
  const named = await db
    .selectFrom("threads")
    .select("id")
    .select((eb) => firstQuery(eb, dialect, visibleTo).as("request"))
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

/** A thread's first visible query. The search starts at the stored position, whose run may have been deleted since. */
function firstQuery(eb: ExpressionBuilder<Schema, "threads">, { indexOf }: StoreDialect, visibleTo: OfRoles) {
  const first = eb
    .selectFrom("thread_roles")
    .select((inner) => inner.fn.min("thread_roles.first_position").as("first"))
    .whereRef("thread_roles.thread_id", "=", "threads.id")
    .where("thread_roles.role", "in", [NO_ROLE, ...visibleTo.roles]);
  return eb
    .selectFrom("runs")
    .select((inner) => {
      const request = inner.ref("runs.request");
      const start = indexOf(request, QUERY_MEMBER);
      return sql<string>`substr(${request}, ${start}, ${sql.lit(TITLED_CHARS)})`.as("request");
    })
    .whereRef("runs.thread_id", "=", "threads.id")
    .where("runs.position", ">=", first)
    .where((inner) => visibleRuns(inner, visibleTo))
    .orderBy("runs.position")
    .limit(1);
}

const TITLE_UNITS = 80;
const HALF_CHARACTER = /[\uD800-\uDBFF]$/;

/** A thread's title: the start of its first query. */
export function titleOf({ query }: { query: string }): string {
  return beginningOf(query, TITLE_UNITS);
}

/** The text before the query in a stored request. No string contains it, because its quotes would be escaped. */
export const QUERY_MEMBER = '"query":"';
/** The following characters that contain the title. An escaped character takes up to six. */
export const TITLED_CHARS = QUERY_MEMBER.length + 6 * TITLE_UNITS;

/**
 * The title from the part of a stored request that starts with its query. Queries have up to 100,000 characters; a page
 * with a hundred threads must not read and parse them all.
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

/** A text's first `units`, without half a surrogate pair at the end. */
export function beginningOf(text: string, units: number): string {
  return text.slice(0, units).replace(HALF_CHARACTER, "");
}
