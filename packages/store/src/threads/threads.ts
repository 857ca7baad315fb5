import { isoTime, present } from "@patchbay/kit";
import type { ThreadDetail, ThreadSummary } from "@patchbay/protocol";
import { type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { VisibleTo } from "@patchbay/engine/ports/callers";
import type { ThreadStore } from "@patchbay/engine/ports/store/stores";
import { fromJson } from "../columns.ts";
import { releaseReservations } from "../runs/credits.ts";
import { byNewest, newestFirst, pageFrom, parseCursor, toCursor } from "../page-cursor.ts";
import { type Engine, transact } from "../engine.ts";
import type { Schema, ThreadRow } from "../tables/schema.ts";
import { summariesOf, threadsOfRoles } from "./thread-roles.ts";
import { visibleRuns } from "./visible.ts";
import type { RunRow } from "../tables/runs.ts";
import { affects, is } from "../statement.ts";

/** Threads as clients list, read and erase them. */
export function threadStore(engine: Engine): ThreadStore {
  const { db } = engine;
  return {
    async exists(agentId, threadId, visibleTo) {
      return (await findThread(engine, agentId, threadId, visibleTo)) !== undefined;
    },

    async ofKey(agentId, { scope, formerScope, id }, { callers } = {}) {
      const found = await db
        .selectFrom("thread_keys")
        .select(["scope", "thread_id"])
        .where("agent_id", "=", agentId)
        .where("scope", "in", formerScope === undefined ? [scope] : [scope, formerScope])
        .where("external_id", "=", id)
        .$if(callers !== undefined, (keys) =>
          keys.where("thread_id", "in", (eb) =>
            eb
              .selectFrom("threads")
              .select("threads.id")
              .whereRef("threads.id", "=", "thread_keys.thread_id")
              .where("threads.caller_id", "in", callers!),
          ),
        )
        .execute();
      return (found.find((one) => one.scope === scope) ?? found[0])?.thread_id;
    },

    async list(agentId, { roles, ...asked }) {
      if (roles) return threadsOfRoles(engine, agentId, { ...asked, roles });
      const { limit, cursor, sessionId, callers } = asked;
      const newest = (caller?: string) =>
        newestFirst(engine.reads.selectFrom("threads").selectAll(), cursor, { at: "updated_at", id: "id" })
          .where(is({ agent_id: agentId, listed: 1, ...present({ caller_id: caller }) }))
          .$if(sessionId !== undefined, (some) => some.where((eb) => ofSession(eb, agentId, sessionId!, { callers })))
          .limit(limit + 1)
          .execute();
      const found = callers ? (await Promise.all(callers.map(newest))).flat() : await newest();
      const sorted = found.toSorted((a, b) => byNewest(endOf(a), endOf(b)));
      const { rows, nextCursor } = pageFrom(sorted, { limit, endOf });
      return { items: rows.map(toSummary), nextCursor };
    },

    async get(agentId, threadId, page) {
      const { roles, callers } = page;
      const thread = await findThread(engine, agentId, threadId, page);
      if (!thread) return undefined;
      // A key with a role list sees neither sessions nor times from other roles.
      const [summary] = roles ? await summariesOf(engine, [threadId], { roles, callers }) : [toSummary(thread)];
      if (!summary) return undefined;
      return { ...summary, ...(await messagesOf(engine, threadId, page)) };
    },

    async readable(agentId, threadId, { roles, callers } = {}) {
      if (!(await findThread(engine, agentId, threadId, { callers }))) return "none";
      if (!roles) return "all";
      const one = db.selectFrom("runs").select("id").where("thread_id", "=", threadId).limit(1);
      const seen = await one.where((eb) => visibleRuns(eb, { roles })).executeTakeFirst();
      if (!seen) return "none";
      const hidden = await one.where((eb) => eb.not(visibleRuns(eb, { roles }))).executeTakeFirst();
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

const endOf = ({ updated_at: at, id }: ThreadRow) => ({ at, id });

function findThread(
  { db }: Engine,
  agentId: string,
  threadId: string,
  { callers }: Pick<VisibleTo, "callers"> = {},
): Promise<ThreadRow | undefined> {
  return db
    .selectFrom("threads")
    .selectAll()
    .where(is({ id: threadId, agent_id: agentId }))
    .$if(callers !== undefined, (own) => own.where("caller_id", "in", callers!))
    .executeTakeFirst();
}

/** Locks the thread until the transaction ends: no run in it starts or ends. */
function lockThread(trx: Engine, agentId: string, threadId: string): Promise<boolean> {
  const thread = trx.db.updateTable("threads").where(is({ id: threadId, agent_id: agentId }));
  return affects(
    trx,
    thread.set((eb) => ({ updated_at: eb.ref("updated_at") })),
  );
}

/** Locks the open runs, so that they cannot reserve or spend credits until the transaction ends. */
async function lockUnfinished({ db }: Engine, threadId: string): Promise<{ runId: string; orgId: string }[]> {
  const runs = await db
    .updateTable("runs")
    .set((eb) => ({ status: eb.ref("status") }))
    .where(is({ thread_id: threadId, finished_at: null }))
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

/** Condition for threads with a run in the session. The thread's own column has only the newest session. */
export const ofSession = (
  eb: ExpressionBuilder<Schema, "threads">,
  agentId: string,
  sessionId: string,
  visibleTo: VisibleTo = {},
) =>
  eb(
    "threads.id",
    "in",
    eb
      .selectFrom("runs")
      .select("runs.thread_id")
      .where(is({ "runs.agent_id": agentId, "runs.session_id": sessionId }))
      .where((runs) => visibleRuns(runs, visibleTo)),
  );

type Messages = Pick<ThreadDetail, "messages" | "nextCursor">;
type Message = ThreadDetail["messages"][number];
type Exchange = Pick<RunRow, "id" | "status" | "request" | "ending" | "created_at" | "finished_at">;

/** One page of a thread's messages, oldest first. A cursor is the next message's role and the position of its run. */
async function messagesOf(
  { reads: db }: Engine,
  threadId: string,
  { limit, cursor, ...visibleTo }: { limit: number; cursor?: string | undefined } & VisibleTo,
): Promise<Messages> {
  const next = cursor === undefined ? { at: 0, id: "user" } : parseCursor(cursor);
  // Each run has one or two messages, and the first run's first message may be on the previous page.
  const runs = await db
    .selectFrom("runs")
    .select(["id", "position", "status", "request", "ending", "created_at", "finished_at"])
    .where("thread_id", "=", threadId)
    .where("position", ">=", Math.min(next.at, LAST_POSITION))
    .where(isNotRetried)
    .where((eb) => visibleRuns(eb, visibleTo))
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

/** A retry repeats the previous run's query. */
const isNotRetried = sql<SqlBool>`not exists (select 1 from runs as retry
  where retry.thread_id = runs.thread_id and retry.position = runs.position + 1 and retry.retry_of is not null)`;

/** The column's maximum. A cursor from another list may contain a larger value, which Postgres would reject. */
const LAST_POSITION = 2 ** 31 - 1;

/** A run's query, and its answer if the run succeeded. */
export function toMessages(run: Exchange): Message[] {
  const { query } = fromJson(run.request);
  const asked: Message = { role: "user", content: query, runId: run.id, createdAt: isoTime(run.created_at) };
  if (run.status !== "succeeded" || run.ending === null || run.finished_at === null) return [asked];
  const { response } = fromJson(run.ending);
  return [asked, { role: "assistant", content: response, runId: run.id, createdAt: isoTime(run.finished_at) }];
}
