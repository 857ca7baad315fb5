import type { ThreadSummary } from "@patchbay/protocol";
import type { ExpressionBuilder } from "kysely";
import type { ThreadStore } from "../ports/stores.ts";
import { isoTime } from "./columns.ts";
import { olderThan } from "./console/keyset.ts";
import { releaseHolds } from "./credits.ts";
import { toCursor } from "./page-cursor.ts";
import type { Engine, Schema, ThreadRow } from "./schema.ts";
import { messagesOf } from "./thread-messages.ts";
import { ofRoles, summariesOf, threadsOfRoles } from "./thread-roles.ts";
import { transact } from "./transact.ts";

export function threadStore(engine: Engine): ThreadStore {
  const { db } = engine;
  return {
    async exists(agentId, threadId) {
      return (await findThread(engine, agentId, threadId)) !== undefined;
    },

    async list(agentId, { roles, ...asked }) {
      if (roles) return threadsOfRoles(engine, agentId, { ...asked, roles });
      const { limit, cursor, sessionId } = asked;
      const rows = await engine.reads
        .selectFrom("threads")
        .selectAll()
        .where("agent_id", "=", agentId)
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
      // A key pinned to roles sees neither sessions nor times of others.
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
        for (const run of await lockUnfinished(trx, threadId)) await releaseHolds(trx, run);
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

/** From here to the end of the transaction no run starts in the thread, and none of its runs ends. */
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

/** None of these can hold or spend credits from here to the end of the transaction. */
async function lockUnfinished({ db }: Engine, threadId: string): Promise<{ runId: string; orgId: string }[]> {
  const runs = await db
    .updateTable("runs")
    .set((eb) => ({ status: eb.ref("status") }))
    .where("thread_id", "=", threadId)
    .where("finished_at", "is", null)
    .where("status", "in", ["queued", "running"])
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

/** A thread with a run of the session: later runs may have been of others. */
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
