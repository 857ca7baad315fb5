import { isoTime } from "@patchbay/kit";
import type { ConsoleSession, ConsoleThread, ConsoleThreadDetail } from "@patchbay/protocol/console";
import { type ExpressionBuilder, sql } from "kysely";
import { fromJson } from "@patchbay/store/columns";
import { usdOf } from "@patchbay/server/accounts/admin-accounts";
import type { Engine } from "@patchbay/store/engine";
import { newestPage, type PageAsked, type PageOf } from "@patchbay/store/page-cursor";
import type { Schema } from "@patchbay/store/tables/schema";
import { ofSession, toMessages, toSummary } from "@patchbay/store/threads/threads";
import { asks, indexConditions, orderOf } from "../runs/filter.ts";
import { shownQuery, summarised, toSummaries } from "../runs/summary.ts";
import { sum } from "@patchbay/store/runs/run-facts";
import { type AgentScope, begins, contains, onEngine } from "../lists.ts";
import { is } from "@patchbay/store/statement";

const ORDER = { at: "threads.updated_at", id: "threads.id" } as const;

type Asked = { sessionId?: string | undefined; q?: string | undefined } & PageAsked;

/** An agent's threads, with runs in all roles. */
export function threadQueries(engine: Engine) {
  const { db } = engine;
  return {
    /** Latest change first. `q` matches part of the title, or the start of an id. */
    async list({ orgId, agentId }: AgentScope, { sessionId, q, ...asked }: Asked): Promise<PageOf<ConsoleThread>> {
      const listed = db
        .selectFrom("threads")
        .selectAll("threads")
        .where(is({ "threads.org_id": orgId, "threads.agent_id": agentId, "threads.listed": 1 }))
        .where((eb) => (sessionId === undefined ? eb.and([]) : ofSession(eb, agentId, sessionId)));
      const search = (query: typeof listed) => query.where((eb) => called(eb, q!));
      const { items: rows, nextCursor } = await newestPage(listed, asked, ORDER, q === undefined ? undefined : search);
      const ids = rows.map(({ id }) => id);
      const figures = await figuresOf(db, ids);
      const items = rows.map((row) => {
        const { queries = 0, costUsd = 0 } = figures.get(row.id) ?? {};
        return {
          threadId: row.id,
          sessionId: row.session_id,
          title: row.title,
          runs: queries,
          costUsd,
          createdAt: isoTime(row.created_at),
          updatedAt: isoTime(row.updated_at),
        };
      });
      return { items, nextCursor };
    },

    /** A thread's newest queries, in its order; `nextCursor` continues backwards. Undefined for an unknown thread. */
    get: onEngine(engine, threadPage),
  };
}

type Threads = ExpressionBuilder<Schema, "threads">;

function called(eb: Threads, q: string) {
  if (q.startsWith("thr_")) return begins(eb.ref("threads.id"), q);
  return contains(eb.ref("threads.title"), q);
}

/**
 * Sums over the runs of each thread. One join over all threads: with one subquery per thread, Postgres without table
 * statistics read the usage of all runs for each of them.
 */
async function figuresOf(
  db: Engine["db"],
  threadIds: readonly string[],
): Promise<Map<string, ConsoleThreadDetail["figures"]>> {
  if (threadIds.length === 0) return new Map();
  const usage = (column: string) => sum(sql<number>`coalesce(${sql.ref(column)}, 0)`);
  const rows = await db
    .selectFrom("runs")
    .leftJoin("usage", "usage.run_id", "runs.id")
    .select((eb) => [
      "runs.thread_id as id",
      eb.fn.count<number>("runs.id").distinct().as("queries"),
      usage("usage.input_tokens").as("inputTokens"),
      usage("usage.output_tokens").as("outputTokens"),
      usage("usage.cost_micros").as("costMicros"),
    ])
    .where("runs.thread_id", "in", threadIds)
    .groupBy("runs.thread_id")
    .execute();
  return new Map(rows.map(({ id, costMicros, ...sums }) => [id, { ...sums, costUsd: usdOf(costMicros) }]));
}

/** A thread's page, newest queries first, each page in the thread's order. */
async function threadPage(
  engine: Engine,
  scope: AgentScope,
  threadId: string,
  asked: PageAsked,
): Promise<ConsoleThreadDetail | undefined> {
  const { orgId, agentId } = scope;
  const thread = await engine.db
    .selectFrom("threads")
    .selectAll()
    .where(is({ id: threadId, org_id: orgId, agent_id: agentId }))
    .executeTakeFirst();
  if (!thread) return undefined;
  const stored = summarised(engine)
    .select("ending")
    .where((eb) => indexConditions(eb, scope, { threadId }));
  const { items, nextCursor } = await newestPage(stored, asked, orderOf({ threadId }));
  const runs = items.toReversed();
  return {
    ...toSummary(thread),
    messages: runs.flatMap(toMessages),
    runs: await toSummaries(engine, runs),
    figures: (await figuresOf(engine.db, [threadId])).get(threadId)!,
    nextCursor,
  };
}

const SESSION_ORDER = { at: "sessions.last_seen_at", id: "sessions.id" } as const;

type SessionsAsked = { from: number; to: number; q?: string | undefined } & PageAsked;
type Sessions = ExpressionBuilder<Schema, "sessions">;

/** An agent's sessions. */
export function sessionQueries({ db, dialect }: Engine) {
  /** True when the id or the session's first query contains `q`. */
  const names = (eb: Sessions, q: string) =>
    eb.or([
      contains(eb.ref("sessions.id"), q),
      eb(
        runsOf(eb)
          .select((run) =>
            run
              .case()
              .when(asks(run, dialect, q))
              .then(1)
              .else(0)
              .end()
              .as("asks"),
          )
          .orderBy("runs.created_at")
          .orderBy("runs.id")
          .limit(1),
        "=",
        1,
      ),
    ]);

  return {
    /** Sessions with activity between `from` and `to`, last seen first. `q` matches part of an id or first query. */
    async list(
      { orgId, agentId }: AgentScope,
      { from, to, q, ...asked }: SessionsAsked,
    ): Promise<PageOf<ConsoleSession>> {
      const listed = db
        .selectFrom("sessions")
        .select(["sessions.id", "sessions.created_at", "sessions.last_seen_at"])
        .where(is({ "sessions.org_id": orgId, "sessions.agent_id": agentId }))
        .where("sessions.last_seen_at", ">=", from)
        .where("sessions.created_at", "<", to);
      const search = (query: typeof listed) => query.where((eb) => names(eb, q!));
      const isSearch = q !== undefined;
      const { items: rows, nextCursor } = await newestPage(listed, asked, SESSION_ORDER, isSearch ? search : undefined);
      const ids = rows.map(({ id }) => id);
      const figures = await sessionFiguresOf(db, agentId, ids);
      const items = rows.map((row) => ({
        sessionId: row.id,
        createdAt: isoTime(row.created_at),
        lastSeenAt: isoTime(row.last_seen_at),
        ...(figures.get(row.id) ?? NOTHING),
      }));
      return { items, nextCursor };
    },
  };
}

const runsOf = (eb: Sessions) =>
  eb
    .selectFrom("runs")
    .whereRef("runs.agent_id", "=", "sessions.agent_id")
    .whereRef("runs.session_id", "=", "sessions.id");

const countOf = sql<number>`count(*)`.as("count");

type SessionFigures = Pick<ConsoleSession, "firstQuery" | "queries" | "failed" | "costUsd">;
const NOTHING: SessionFigures = { firstQuery: "", queries: 0, failed: 0, costUsd: 0 };

/** Sums over the runs of these sessions. A session without threads has no runs. */
async function sessionFiguresOf(
  db: Engine["db"],
  agentId: string,
  sessionIds: readonly string[],
): Promise<Map<string, SessionFigures>> {
  if (sessionIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("sessions")
    .select("sessions.id")
    .select((eb) => [
      runsOf(eb).select("runs.request").orderBy("runs.created_at").orderBy("runs.id").limit(1).as("request"),
      runsOf(eb).select(countOf).as("queries"),
      runsOf(eb).select(countOf).where("runs.status", "=", "failed").as("failed"),
      runsOf(eb)
        .innerJoin("usage", "usage.run_id", "runs.id")
        .select((runs) => sum(runs.ref("usage.cost_micros")).as("sum"))
        .as("micros"),
    ])
    .where("sessions.agent_id", "=", agentId)
    .where("sessions.id", "in", sessionIds)
    .execute();
  return new Map(
    rows.map(({ id, request, queries, failed, micros }) => [
      id,
      {
        firstQuery: request === null ? "" : shownQuery(fromJson(request).query),
        queries: Number(queries),
        failed: Number(failed),
        costUsd: usdOf(Number(micros)),
      },
    ]),
  );
}
