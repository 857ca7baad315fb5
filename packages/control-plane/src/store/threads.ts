import type { ThreadDetail, ThreadSummary } from "@patchbay/protocol";
import type { ThreadStore } from "../ports/stores.ts";
import { fromJson, isoTime } from "./columns.ts";
import { releaseHolds } from "./credits.ts";
import { olderThan } from "./console/keyset.ts";
import { toCursor } from "./page-cursor.ts";
import { ENDING } from "./run-record.ts";
import type { RunRow } from "./run-tables.ts";
import type { Engine, ThreadRow } from "./schema.ts";
import { ofRoles, summariesOf, threadsOfRoles } from "./thread-roles.ts";
import { transact } from "./transact.ts";

export function threadStore(engine: Engine): ThreadStore {
  const { db } = engine;
  return {
    async exists(agentId, threadId) {
      return (await findThread(engine, agentId, threadId)) !== undefined;
    },

    async list(agentId, { limit, cursor, roles }) {
      const from = { limit, ...(cursor !== undefined && { cursor }) };
      if (roles) return threadsOfRoles(engine, agentId, { ...from, roles });
      const rows = await engine.reads
        .selectFrom("threads")
        .selectAll()
        .where("agent_id", "=", agentId)
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

    async get(agentId, threadId, { roles }) {
      const thread = await findThread(engine, agentId, threadId);
      if (!thread) return undefined;
      // A key pinned to roles sees neither sessions nor times of others.
      const [summary] = roles ? await summariesOf(engine, [threadId], roles) : [toSummary(thread)];
      if (!summary) return undefined;
      const runs = await db
        .selectFrom("runs")
        .select(["id", "status", "request", ENDING.as("ending"), "created_at", "finished_at"])
        .where("thread_id", "=", threadId)
        .$if(roles !== undefined, (pinned) => pinned.where((eb) => ofRoles(eb, roles!)))
        .orderBy("position")
        .execute();
      return { ...summary, messages: runs.flatMap(toMessages) };
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

export function toMessages(
  run: Pick<RunRow, "id" | "status" | "request" | "ending" | "created_at" | "finished_at">,
): ThreadDetail["messages"] {
  const { query } = fromJson(run.request);
  const asked = { role: "user" as const, content: query, runId: run.id, createdAt: isoTime(run.created_at) };
  if (run.status !== "succeeded" || run.ending === null || run.finished_at === null) return [asked];
  const { response } = fromJson(run.ending);
  return [asked, { role: "assistant", content: response, runId: run.id, createdAt: isoTime(run.finished_at) }];
}
