import { type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { ThreadReads } from "../../ports/console-runs.ts";
import { isoTime } from "../columns.ts";
import type { Engine, Schema } from "../schema.ts";
import { ofSession } from "../threads.ts";
import { olderThan, pageFrom } from "./keyset.ts";
import { likeLiteral } from "./run-filter.ts";
import { sum } from "./run-summary.ts";
import { threadPage } from "./thread-page.ts";

const ORDER = { at: "threads.updated_at", id: "threads.id" };
/** Threads that one page of a search looks at. */
const LOOKED_AT = 10_000;

type Asked = Parameters<ThreadReads["list"]>[2];

/** Threads as the console shows them, whatever roles their runs had. */
export function threadReads(engine: Engine): ThreadReads {
  const { db } = engine;
  /** What an index finds. */
  const listed = (orgId: string, agentId: string, { sessionId, cursor }: Asked) =>
    db
      .selectFrom("threads")
      .where("threads.org_id", "=", orgId)
      .where("threads.agent_id", "=", agentId)
      .$if(sessionId !== undefined, (narrowed) => narrowed.where((eb) => ofSession(eb, agentId, sessionId!)))
      .$if(cursor !== undefined, (narrowed) => narrowed.where(olderThan(cursor!, ORDER)))
      .orderBy("threads.updated_at", "desc")
      .orderBy("threads.id", "desc");

  return {
    async list(orgId, agentId, asked) {
      const { limit, q } = asked;
      const oldest = listed(orgId, agentId, asked).select("threads.updated_at").limit(1).offset(LOOKED_AT);
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

    get: (orgId, agentId, threadId, asked) => threadPage(engine, { orgId, agentId, threadId }, asked),

    async exists(orgId, agentId, threadId) {
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
  return sql<SqlBool>`lower(${eb.ref("threads.title")}) like lower(cast(${`%${likeLiteral(q)}%`} as text)) escape '\\'`;
}

async function figuresOf(
  db: Engine["db"],
  threadIds: readonly string[],
): Promise<Map<string, { runs: number; micros: number }>> {
  if (threadIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("threads")
    .select("threads.id")
    .select((eb) => [
      eb
        .selectFrom("runs")
        .select((inner) => inner.fn.countAll<number>().as("count"))
        .whereRef("runs.thread_id", "=", "threads.id")
        .as("runs"),
      eb
        .selectFrom("runs")
        .innerJoin("usage", "usage.run_id", "runs.id")
        .select((inner) => sum(inner.ref("usage.cost_micros")).as("sum"))
        .whereRef("runs.thread_id", "=", "threads.id")
        .as("micros"),
    ])
    .where("threads.id", "in", threadIds)
    .execute();
  return new Map(rows.map(({ id, runs, micros }) => [id, { runs: Number(runs), micros: Number(micros) }]));
}
