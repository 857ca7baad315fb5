import type { Agent } from "@patchbay/protocol/console";
import { sql, type Selectable, type SqlBool } from "kysely";
import type { AgentReads } from "../../ports/console-agents.ts";
import { fromJson, isoTime } from "../columns.ts";
import type { Engine, Schema } from "../schema.ts";
import { ago, connectedNow } from "./connected.ts";
import { olderThan, pageFrom } from "./keyset.ts";
import { likeLiteral } from "./run-filter.ts";

const ORDER = { at: "agents.created_at", id: "agents.id" };
const DAY_MS = 86_400_000;

export function agentReads(engine: Engine): AgentReads {
  const { db } = engine;
  const figured = (orgId: string) =>
    db
      .selectFrom("agents")
      .selectAll("agents")
      .select([
        runtimesOf(engine).as("runtimes"),
        queriesOf(engine, sql``).as("queries"),
        queriesOf(
          engine,
          sql`and runs.org_id = agents.org_id and runs.status = 'failed' and runs.finished_at is not null`,
        ).as("failed"),
        sql<number | null>`(select max(runs.created_at) from runs where runs.agent_id = agents.id)`.as("last_query_at"),
        newestSetOf(engine).as("manifest_hash"),
      ])
      .where("agents.org_id", "=", orgId)
      .where("agents.deleted_at", "is", null);
  return {
    async list(orgId, { limit, cursor, q }) {
      const rows = await figured(orgId)
        .$if(q !== undefined, (searched) => searched.where(called(q!)))
        .$if(cursor !== undefined, (narrowed) => narrowed.where(olderThan(cursor!, ORDER)))
        .orderBy("agents.created_at", "desc")
        .orderBy("agents.id", "desc")
        .limit(limit + 1)
        .execute();
      const endOf = (row: Row) => ({ at: row.created_at, id: row.id });
      const page = pageFrom(rows, { limit, floor: undefined, endOf });
      return { items: await withFunctions(engine, page.rows), nextCursor: page.nextCursor };
    },

    async get(orgId, agentId) {
      const rows = await figured(orgId).where("agents.id", "=", agentId).execute();
      const [agent] = await withFunctions(engine, rows);
      return agent && { ...agent, settings: fromJson(rows[0]!.settings) };
    },
  };
}

type Row = Selectable<Schema["agents"]> & {
  runtimes: number;
  queries: number;
  failed: number;
  last_query_at: number | null;
  manifest_hash: string | null;
};

const runtimesOf = (engine: Engine) =>
  sql<number>`(select count(*) from runtimes where runtimes.agent_id = agents.id and ${connectedNow(engine, "runtimes")})`;

const queriesOf = (engine: Engine, narrowed: ReturnType<typeof sql>) =>
  sql<number>`(select count(*) from runs where runs.agent_id = agents.id
    and runs.created_at > ${ago(engine, DAY_MS)} ${narrowed})`;

/** The set that new runs get, or where nothing is connected the one that was connected last. */
const newestSetOf = (engine: Engine) =>
  sql<string | null>`(select runtimes.manifest_hash from runtimes where runtimes.agent_id = agents.id
    order by case when ${connectedNow(engine, "runtimes")} then 0 else 1 end, coalesce(runtimes.opened_at, 0) desc limit 1)`;

function called(q: string) {
  if (q.startsWith("agt_")) return sql<SqlBool>`substr(agents.id, 1, ${sql.lit(q.length)}) = ${q}`;
  return sql<SqlBool>`lower(agents.name) like lower(cast(${`%${likeLiteral(q)}%`} as text)) escape '\\'`;
}

/** The agents of a page, with how many functions their newest sets have. */
async function withFunctions({ db }: Engine, rows: readonly Row[]): Promise<Agent[]> {
  const sets = rows.flatMap(({ id, manifest_hash }) => (manifest_hash === null ? [] : [{ id, manifest_hash }]));
  const bodies =
    sets.length === 0
      ? []
      : await db
          .selectFrom("manifests")
          .select(["agent_id", "hash", "body"])
          .where((eb) => eb.or(sets.map((set) => eb.and({ agent_id: set.id, hash: set.manifest_hash }))))
          .execute();
  const counts = new Map(bodies.map(({ agent_id, body }) => [agent_id, fromJson(body).functions.length]));
  return rows.map((row) => ({
    agentId: row.id,
    name: row.name,
    instructions: row.instructions,
    accessChanges: row.access_changes,
    createdAt: isoTime(row.created_at),
    runtimes: row.runtimes,
    functions: counts.get(row.id) ?? null,
    queries: row.queries,
    failed: row.failed,
    lastQueryAt: row.last_query_at === null ? null : isoTime(row.last_query_at),
  }));
}
