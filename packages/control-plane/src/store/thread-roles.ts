import type { ThreadPage } from "@patchbay/protocol";
import { type Expression, type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { NewRun } from "../ports/run-store.ts";
import { isoTime } from "./columns.ts";
import { olderThan } from "./console/keyset.ts";
import { type PageEnd, toCursor } from "./page-cursor.ts";
import type { StoreDialect } from "./dialect/dialect.ts";
import type { Engine, Schema } from "./schema.ts";
import { statement } from "./statement.ts";
import { QUERY_MEMBER, TITLED_CHARS, titleIn } from "./thread-title.ts";

type ThreadSummary = ThreadPage["items"][number];
type RoleRow = Schema["thread_roles"];

/** Stands for runs without a role, which every key may see. */
export const NO_ROLE = "";
const NEWEST = { at: "updated_at", id: "thread_id" };
/** Pages of candidates that one page of threads looks at, where newer runs of another visible role move most of them up. */
const LOOKS = 5;

/** Notes a run that starts in a thread, whose row is locked. */
export const noteRole = statement((row: Omit<RoleRow, "created_at" | "updated_at">, { db, dialect }) =>
  db
    .insertInto("thread_roles")
    .values({ ...row, created_at: dialect.now, updated_at: dialect.now })
    .onConflict((conflict) =>
      conflict.columns(["thread_id", "role"]).doUpdateSet((eb) => ({
        updated_at: dialect.now,
        session_id: eb.fn.coalesce("excluded.session_id", "thread_roles.session_id"),
      })),
    ),
);

export const roleRowOf = (run: NewRun, position: number): Omit<RoleRow, "created_at" | "updated_at"> => ({
  thread_id: run.threadId,
  role: run.request.role ?? NO_ROLE,
  org_id: run.orgId,
  agent_id: run.agentId,
  session_id: run.sessionId ?? null,
  first_position: position,
});

/** Notes a run that ends. */
export const touchRole = statement((p: { runId: string }, { db, dialect }) => {
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
 * A page of the threads with runs of these roles or of no role, by the last change of those. A page may be short, even empty,
 * and yet have a next one.
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
  for (let look = 0; more && look < LOOKS && found.length < wanted; look++) {
    const candidates = await newest(engine, agentId, {
      ...asked,
      limit: wanted,
      ...(next !== undefined && { cursor: next }),
    });
    more = candidates.length === wanted;
    const end = candidates.at(-1);
    if (end) next = toCursor(end);
    const summaries = await summariesOf(engine, [...new Set(candidates.map(({ id }) => id))], roles);
    // A thread stands where its newest visible run is: further down it was on an earlier page.
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

/** The newest rows of these roles, each role's found by the index. */
async function newest(
  { reads: db }: Engine,
  agentId: string,
  { roles, limit, cursor, sessionId }: Asked,
): Promise<PageEnd[]> {
  const older = cursor === undefined ? sql`` : sql`and ${olderThan(cursor, NEWEST)}`;
  // A row keeps only the newest session of its role; the runs have all of them.
  const visible = sql`(role is null or role in (${sql.join([NO_ROLE, ...roles])}))`;
  const inSession =
    sessionId === undefined
      ? sql``
      : sql`and thread_id in
          (select thread_id from runs where agent_id = ${agentId} and session_id = ${sessionId} and ${visible})`;
  const newestFirst = sql`order by updated_at desc, thread_id desc limit ${limit}`;
  const ofRole = [NO_ROLE, ...roles].map(
    (role) => sql`select * from (select updated_at as at, thread_id as id from thread_roles
      where agent_id = ${agentId} and role = ${role} ${inSession} ${older} ${newestFirst}) as of_role`,
  );
  const all = sql<PageEnd>`${sql.join(ofRole, sql` union all `)} order by at desc, id desc limit ${limit}`;
  return (await all.execute(db)).rows;
}

/**
 * Threads as these roles see them: called by the first query of theirs, with their sessions and times. Those without a run that
 * they may see are left out.
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

/** Of the first run that these roles may see; the lookup begins there, and goes on only where that was deleted. */
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

/** Runs of these roles and of no role. */
export function ofRoles<T extends keyof Schema>(
  eb: ExpressionBuilder<Schema, T | "runs">,
  roles: readonly string[],
): Expression<SqlBool> {
  const runs = eb as ExpressionBuilder<Schema, "runs">;
  const roleless = runs("runs.role", "is", null);
  return roles.length === 0 ? roleless : runs.or([roleless, runs("runs.role", "in", roles)]);
}
