import type { ConsoleThread, ConsoleThreadDetail } from "@patchbay/protocol/console";
import { type ExpressionBuilder, sql, type SqlBool } from "kysely";
import { isoTime } from "../../store/columns.ts";
import type { Engine } from "../../store/engine.ts";
import { olderThan, type PageAsked, pageFrom, type PageOf, parseCursor } from "../../store/page-cursor.ts";
import type { Schema } from "../../store/schema.ts";
import { ofSession, toMessages, toSummary } from "../../store/threads.ts";
import { contains } from "../contains.ts";
import { indexConditions } from "../runs/filter.ts";
import { summarised, toSummaries } from "../runs/summary.ts";
import { sum } from "../../store/run-facts.ts";

const ORDER = { at: "threads.updated_at", id: "threads.id" };
/** Threads that one page of a search reads. */
const ROWS_READ = 10_000;

type Asked = { sessionId?: string | undefined; q?: string | undefined } & PageAsked;

/** Threads of an agent, of runs of every role. */
export function threadQueries(engine: Engine) {
  const { db } = engine;
  /** Conditions and order that an index answers. */
  const listed = (orgId: string, agentId: string, { sessionId, cursor }: Asked) =>
    db
      .selectFrom("threads")
      .where("threads.org_id", "=", orgId)
      .where("threads.agent_id", "=", agentId)
      .where("threads.listed", "=", 1)
      .$if(sessionId !== undefined, (narrowed) => narrowed.where((eb) => ofSession(eb, agentId, sessionId!)))
      .$if(cursor !== undefined, (narrowed) => narrowed.where(olderThan(cursor!, ORDER)))
      .orderBy("threads.updated_at", "desc")
      .orderBy("threads.id", "desc");

  return {
    /** Latest change first. `q` is part of the title, or the beginning of an id. */
    async list(orgId: string, agentId: string, asked: Asked): Promise<PageOf<ConsoleThread>> {
      const { limit, q } = asked;
      const oldest = listed(orgId, agentId, asked).select("threads.updated_at").limit(1).offset(ROWS_READ);
      const floor = q === undefined ? undefined : (await oldest.executeTakeFirst())?.updated_at;
      const rows = await listed(orgId, agentId, asked)
        .selectAll("threads")
        .$if(q !== undefined, (searched) => searched.where((eb) => called(eb, q!)))
        .$if(floor !== undefined, (bounded) => bounded.where("threads.updated_at", ">=", floor!))
        .limit(limit + 1)
        .execute();
      const page = pageFrom(rows, { limit, floor, endOf: (row) => ({ at: row.updated_at, id: row.id }) });
      const figures = await figuresOf(
        db,
        page.rows.map(({ id }) => id),
      );
      const items = page.rows.map((row) => {
        const { runs = 0, micros = 0 } = figures.get(row.id) ?? {};
        return {
          threadId: row.id,
          sessionId: row.session_id,
          title: row.title,
          runs,
          costUsd: micros / 1_000_000,
          createdAt: isoTime(row.created_at),
          updatedAt: isoTime(row.updated_at),
        };
      });
      return { items, nextCursor: page.nextCursor };
    },

    /** The newest queries of a thread, in its order; `nextCursor` continues with earlier ones. Undefined for an unknown thread. */
    get: (
      orgId: string,
      agentId: string,
      threadId: string,
      asked: PageAsked,
    ): Promise<ConsoleThreadDetail | undefined> => threadPage(engine, { orgId, agentId, threadId }, asked),

    async exists(orgId: string, agentId: string, threadId: string): Promise<boolean> {
      const row = await db
        .selectFrom("threads")
        .select("id")
        .where("id", "=", threadId)
        .where("org_id", "=", orgId)
        .where("agent_id", "=", agentId)
        .executeTakeFirst();
      return row !== undefined;
    },
  };
}

type Threads = ExpressionBuilder<Schema, "threads">;

function called(eb: Threads, q: string) {
  if (q.startsWith("thr_")) return sql<SqlBool>`substr(${eb.ref("threads.id")}, 1, ${sql.lit(q.length)}) = ${q}`;
  return contains(eb.ref("threads.title"), q);
}

/**
 * Runs and cost by thread. One join over all threads: as a subquery for each thread, Postgres without statistics of the tables read
 * the usage of all runs for each of them.
 */
async function figuresOf(
  db: Engine["db"],
  threadIds: readonly string[],
): Promise<Map<string, { runs: number; micros: number }>> {
  if (threadIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("runs")
    .leftJoin("usage", "usage.run_id", "runs.id")
    .select((eb) => [
      "runs.thread_id as id",
      eb.fn.count<number>("runs.id").distinct().as("runs"),
      sum(eb.fn.coalesce("usage.cost_micros", sql.lit(0))).as("micros"),
    ])
    .where("runs.thread_id", "in", threadIds)
    .groupBy("runs.thread_id")
    .execute();
  return new Map(rows.map(({ id, runs, micros }) => [id, { runs, micros }]));
}

interface ThreadPlace {
  orgId: string;
  agentId: string;
  threadId: string;
}

/** A page of a thread, the newest queries first, each page in the thread's order. */
async function threadPage(
  engine: Engine,
  place: ThreadPlace,
  { limit, cursor }: PageAsked,
): Promise<ConsoleThreadDetail | undefined> {
  const { orgId, agentId, threadId } = place;
  const thread = await engine.db
    .selectFrom("threads")
    .selectAll()
    .where("id", "=", threadId)
    .where("org_id", "=", orgId)
    .where("agent_id", "=", agentId)
    .executeTakeFirst();
  if (!thread) return undefined;
  // The number of a forged cursor may exceed the column's type.
  const before = cursor === undefined ? undefined : sql<number>`cast(${parseCursor(cursor).at} as bigint)`;
  const rows = await summarised(engine)
    .select("ending")
    .where((eb) => indexConditions(eb, orgId, agentId, { threadId }))
    .$if(before !== undefined, (narrowed) => narrowed.where("runs.position", "<", before!))
    .orderBy("runs.position", "desc")
    .limit(limit + 1)
    .execute();
  const page = pageFrom(rows, { limit, floor: undefined, endOf: (row) => ({ at: row.position, id: row.id }) });
  const runs = page.rows.toReversed();
  return {
    ...toSummary(thread),
    messages: runs.flatMap(toMessages),
    runs: await toSummaries(engine, runs),
    figures: await totalsOf(engine, threadId),
    nextCursor: page.nextCursor,
  };
}

/** Sums over all runs of a thread. */
async function totalsOf({ db }: Engine, threadId: string): Promise<ConsoleThreadDetail["figures"]> {
  const [counted, spent] = await Promise.all([
    db
      .selectFrom("runs")
      .select((eb) => eb.fn.countAll<number>().as("queries"))
      .where("thread_id", "=", threadId)
      .executeTakeFirstOrThrow(),
    db
      .selectFrom("runs")
      .innerJoin("usage", "usage.run_id", "runs.id")
      .select((eb) => [
        sum(eb.ref("usage.input_tokens")).as("input"),
        sum(eb.ref("usage.output_tokens")).as("output"),
        sum(eb.fn.coalesce("usage.cost_micros", sql.lit(0))).as("micros"),
      ])
      .where("runs.thread_id", "=", threadId)
      .executeTakeFirstOrThrow(),
  ]);
  return {
    queries: counted.queries,
    inputTokens: spent.input,
    outputTokens: spent.output,
    costUsd: spent.micros / 1_000_000,
  };
}
