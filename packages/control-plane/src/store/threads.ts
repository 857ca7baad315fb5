import type { ThreadDetail, ThreadSummary } from "@patchbay/protocol";
import type { ExpressionBuilder } from "kysely";
import type { ThreadStore } from "../ports/stores.ts";
import { fromJson, isoTime } from "./columns.ts";
import { releaseReservations } from "./credits.ts";
import { parseCursor, toCursor, olderThan } from "./page-cursor.ts";
import { type Engine, transact } from "./engine.ts";
import type { Schema, ThreadRow } from "./schema.ts";
import { ofRoles, summariesOf, threadsOfRoles } from "./thread-roles.ts";
import type { RunRow } from "./run-record.ts";

/** Threads as clients list, read and erase them. */
export function threadStore(engine: Engine): ThreadStore {
  const { db } = engine;
  return {
    async exists(agentId, threadId) {
      return (await findThread(engine, agentId, threadId)) !== undefined;
    },

    async ofKey(agentId, { scope, id }) {
      const found = await db
        .selectFrom("thread_keys")
        .select("thread_id")
        .where("agent_id", "=", agentId)
        .where("scope", "=", scope)
        .where("external_id", "=", id)
        .executeTakeFirst();
      return found?.thread_id;
    },

    async list(agentId, { roles, ...asked }) {
      if (roles) return threadsOfRoles(engine, agentId, { ...asked, roles });
      const { limit, cursor, sessionId } = asked;
      const rows = await engine.reads
        .selectFrom("threads")
        .selectAll()
        .where("agent_id", "=", agentId)
        .where("listed", "=", 1)
        .$if(sessionId !== undefined, (narrowed) => narrowed.where((eb) => ofSession(eb, agentId, sessionId!)))
        .$if(cursor !== undefined, (narrowed) => narrowed.where(olderThan(cursor!, { at: "updated_at", id: "id" })))
        .orderBy("updated_at", "desc")
        .orderBy("id", "desc")
        .limit(limit + 1)
        .execute();
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const items = page.map(toSummary);
      return { items, nextCursor: rows.length > limit && last ? toCursor({ at: last.updated_at, id: last.id }) : null };
    },

    async get(agentId, threadId, page) {
      const { roles } = page;
      const thread = await findThread(engine, agentId, threadId);
      if (!thread) return undefined;
      // A key with a role list sees neither sessions nor times of other roles.
      const [summary] = roles ? await summariesOf(engine, [threadId], roles) : [toSummary(thread)];
      if (!summary) return undefined;
      return { ...summary, ...(await messagesOf(engine, threadId, page)) };
    },

    async readable(agentId, threadId, roles) {
      if (!(await findThread(engine, agentId, threadId))) return "none";
      if (!roles) return "all";
      const one = db.selectFrom("runs").select("id").where("thread_id", "=", threadId).limit(1);
      const seen = await one.where((eb) => ofRoles(eb, roles)).executeTakeFirst();
      if (!seen) return "none";
      const hidden = await one.where((eb) => eb.not(ofRoles(eb, roles))).executeTakeFirst();
      return hidden ? "some" : "all";
    },

    async erase(agentId, threadId) {
      const erased = await transact(engine, async (trx) => {
        if (!(await lockThread(trx, agentId, threadId))) return false;
        for (const run of await lockUnfinished(trx, threadId)) await releaseReservations(trx, run);
        await trx.db.deleteFrom("threads").where("id", "=", threadId).execute();
        return true;
      });
      if (erased) engine.files.textErased();
      return erased;
    },
  };
}

function findThread({ db }: Engine, agentId: string, threadId: string): Promise<ThreadRow | undefined> {
  return db
    .selectFrom("threads")
    .selectAll()
    .where("id", "=", threadId)
    .where("agent_id", "=", agentId)
    .executeTakeFirst();
}

/** Locks the thread until the end of the transaction: no run starts in it and none of its runs ends. */
async function lockThread({ db }: Engine, agentId: string, threadId: string): Promise<boolean> {
  const locked = await db
    .updateTable("threads")
    .set((eb) => ({ updated_at: eb.ref("updated_at") }))
    .where("id", "=", threadId)
    .where("agent_id", "=", agentId)
    .returning("id")
    .executeTakeFirst();
  return locked !== undefined;
}

/** Locks the open runs, so that they cannot reserve or spend credits until the end of the transaction. */
async function lockUnfinished({ db }: Engine, threadId: string): Promise<{ runId: string; orgId: string }[]> {
  const runs = await db
    .updateTable("runs")
    .set((eb) => ({ status: eb.ref("status") }))
    .where("thread_id", "=", threadId)
    .where("finished_at", "is", null)
    .where("status", "in", ["queued", "running", "waiting"])
    .returning(["id", "org_id"])
    .execute();
  return runs.map((run) => ({ runId: run.id, orgId: run.org_id }));
}

export function toSummary(row: ThreadRow): ThreadSummary {
  return {
    threadId: row.id,
    sessionId: row.session_id,
    title: row.title,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}

/** Condition for threads with a run of the session. The thread's own column has only the newest session. */
export const ofSession = (eb: ExpressionBuilder<Schema, "threads">, agentId: string, sessionId: string) =>
  eb(
    "threads.id",
    "in",
    eb
      .selectFrom("runs")
      .select("runs.thread_id")
      .where("runs.agent_id", "=", agentId)
      .where("runs.session_id", "=", sessionId),
  );

type Messages = Pick<ThreadDetail, "messages" | "nextCursor">;
type Message = ThreadDetail["messages"][number];
type Exchange = Pick<RunRow, "id" | "status" | "request" | "ending" | "created_at" | "finished_at">;

/** One page of a thread's messages, oldest first. A cursor is the position of the next message's run and the message's role. */
async function messagesOf(
  { reads: db }: Engine,
  threadId: string,
  { limit, cursor, roles }: { limit: number; cursor?: string; roles?: readonly string[] },
): Promise<Messages> {
  const next = cursor === undefined ? { at: 0, id: "user" } : parseCursor(cursor);
  // Each run has one or two messages, and the first message of the first run may be on the page before.
  const runs = await db
    .selectFrom("runs")
    .select(["id", "position", "status", "request", "ending", "created_at", "finished_at"])
    .where("thread_id", "=", threadId)
    .where("position", ">=", Math.min(next.at, LAST_POSITION))
    .$if(roles !== undefined, (pinned) => pinned.where((eb) => ofRoles(eb, roles!)))
    .orderBy("position")
    .limit(limit + 2)
    .execute();
  const found = runs.flatMap((run) => toMessages(run).map((message) => ({ message, at: run.position })));
  const first = found.findIndex(({ at, message }) => at > next.at || message.role === next.id);
  const page = first < 0 ? [] : found.slice(first, first + limit);
  const following = first < 0 ? undefined : found[first + limit];
  return {
    messages: page.map(({ message }) => message),
    nextCursor: following ? toCursor({ at: following.at, id: following.message.role }) : null,
  };
}

/** Largest value of the column. A cursor of another list may contain a larger one, which Postgres would reject. */
const LAST_POSITION = 2 ** 31 - 1;

/** The query of a run, and its answer if the run succeeded. */
export function toMessages(run: Exchange): Message[] {
  const { query } = fromJson(run.request);
  const asked: Message = { role: "user", content: query, runId: run.id, createdAt: isoTime(run.created_at) };
  if (run.status !== "succeeded" || run.ending === null || run.finished_at === null) return [asked];
  const { response } = fromJson(run.ending);
  return [asked, { role: "assistant", content: response, runId: run.id, createdAt: isoTime(run.finished_at) }];
}
