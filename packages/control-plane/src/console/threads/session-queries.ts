import type { ConsoleSession } from "@patchbay/protocol/console";
import type { ExpressionBuilder } from "kysely";
import { fromJson, isoTime } from "../../store/columns.ts";
import type { Engine } from "../../store/engine.ts";
import { olderThan, pageFrom, type PageAsked, type PageOf } from "../../store/page-cursor.ts";
import type { Schema } from "../../store/schema.ts";
import { contains } from "../contains.ts";
import { asks } from "../runs/filter.ts";
import { shownQuery } from "../runs/summary.ts";
import { sum } from "../../store/run-facts.ts";

const ORDER = { at: "sessions.last_seen_at", id: "sessions.id" };
/** Sessions that one page of a search reads. */
const ROWS_READ = 10_000;

type Asked = { from: number; to: number; q?: string | undefined } & PageAsked;
type Sessions = ExpressionBuilder<Schema, "sessions">;

/** Sessions of an agent. */
export function sessionQueries({ db, dialect }: Engine) {
  const listed = (orgId: string, agentId: string, { from, to, cursor }: Asked) =>
    db
      .selectFrom("sessions")
      .where("sessions.org_id", "=", orgId)
      .where("sessions.agent_id", "=", agentId)
      .where("sessions.last_seen_at", ">=", from)
      .where("sessions.created_at", "<", to)
      .$if(cursor !== undefined, (narrowed) => narrowed.where(olderThan(cursor!, ORDER)))
      .orderBy("sessions.last_seen_at", "desc")
      .orderBy("sessions.id", "desc");

  /** True when the id or the session's first query contains `q`. */
  const called = (eb: Sessions, q: string) =>
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
    /** Sessions with activity between `from` and `to`, last seen first. `q` is part of the id or of the first query. */
    async list(orgId: string, agentId: string, asked: Asked): Promise<PageOf<ConsoleSession>> {
      const { limit, q } = asked;
      const oldest = listed(orgId, agentId, asked).select("sessions.last_seen_at").limit(1).offset(ROWS_READ);
      const floor = q === undefined ? undefined : (await oldest.executeTakeFirst())?.last_seen_at;
      const rows = await listed(orgId, agentId, asked)
        .select(["sessions.id", "sessions.created_at", "sessions.last_seen_at"])
        .$if(q !== undefined, (searched) => searched.where((eb) => called(eb, q!)))
        .$if(floor !== undefined, (bounded) => bounded.where("sessions.last_seen_at", ">=", floor!))
        .limit(limit + 1)
        .execute();
      const page = pageFrom(rows, { limit, floor, endOf: (row) => ({ at: row.last_seen_at, id: row.id }) });
      const figures = await figuresOf(
        db,
        agentId,
        page.rows.map(({ id }) => id),
      );
      const items = page.rows.map((row) => ({
        sessionId: row.id,
        createdAt: isoTime(row.created_at),
        lastSeenAt: isoTime(row.last_seen_at),
        ...(figures.get(row.id) ?? NOTHING),
      }));
      return { items, nextCursor: page.nextCursor };
    },
  };
}

const runsOf = (eb: Sessions) =>
  eb
    .selectFrom("runs")
    .whereRef("runs.agent_id", "=", "sessions.agent_id")
    .whereRef("runs.session_id", "=", "sessions.id");

type Figures = Pick<ConsoleSession, "firstQuery" | "queries" | "failed" | "costUsd">;
const NOTHING: Figures = { firstQuery: "", queries: 0, failed: 0, costUsd: 0 };

/** Sums over the runs of these sessions. A session without threads has no runs. */
async function figuresOf(
  db: Engine["db"],
  agentId: string,
  sessionIds: readonly string[],
): Promise<Map<string, Figures>> {
  if (sessionIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("sessions")
    .select("sessions.id")
    .select((eb) => [
      runsOf(eb).select("runs.request").orderBy("runs.created_at").orderBy("runs.id").limit(1).as("request"),
      runsOf(eb)
        .select((runs) => runs.fn.countAll<number>().as("count"))
        .as("queries"),
      runsOf(eb)
        .select((runs) => runs.fn.countAll<number>().as("count"))
        .where("runs.status", "=", "failed")
        .as("failed"),
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
        costUsd: Number(micros) / 1_000_000,
      },
    ]),
  );
}
