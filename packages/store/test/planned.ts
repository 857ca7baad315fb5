import { CompiledQuery, Kysely, sql } from "kysely";
import { silentLog } from "@patchbay/kit";
import { type Engine, NO_FILES, type StoreDialect } from "../src/engine.ts";
import { postgresDialect } from "../src/dialect/postgres.ts";
import { sqliteDialect } from "../src/dialect/sqlite.ts";
import { StoreHealth } from "../src/health.ts";
import type { Schema } from "../src/tables/schema.ts";
import { HandClock, type Place } from "./contract/world.ts";
import { postgresPlace } from "./postgres-place.ts";
import { sqlitePlace } from "./sqlite-place.ts";

/** The agent whose rows are read. */
export const SCOPE = { orgId: "org_1", agentId: "agt_1" };

/** A store's engine that notes how the database would find the rows of each statement. */
interface Planned extends AsyncDisposable {
  engine: Engine;
  /** Plans of the statements that `work` gives, one text each. */
  plansOf(work: () => Promise<unknown>): Promise<string[]>;
}

async function planned(
  place: Place,
  dialect: StoreDialect,
  explain: (db: Kysely<Schema>, query: CompiledQuery) => Promise<string>,
): Promise<Planned> {
  await (await place.open(new HandClock())).close();
  const given: CompiledQuery[] = [];
  const log = ({ query }: { query: CompiledQuery }) => void given.push(query);
  const db = new Kysely<Schema>({ dialect: dialect.kysely, log });
  await sql`insert into orgs (id, name, tier, created_at) values ('org_1', 'Desk', 'starter', 0)`.execute(db);
  await sql`insert into agents (id, org_id, name, instructions, created_at, settings)
    values ('agt_1', 'org_1', 'Clerk', '', 0, '{"retentionDays":7}')`.execute(db);
  return {
    engine: { db, reads: db, urgent: db, dialect, files: NO_FILES, health: new StoreHealth() },
    async plansOf(work) {
      given.length = 0;
      await work();
      const plans: string[] = [];
      for (const query of [...given].filter(({ sql }) => /^(select|delete|with|insert|update)/.test(sql)))
        plans.push(await explain(db, query));
      return plans;
    },
    async [Symbol.asyncDispose]() {
      await db.destroy();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** `unbounded` returns what a plan reads from end to end. The agents and the organisations of a service are few. */
export const ENGINES: Record<string, { open(): Promise<Planned>; unbounded(plan: string): string[] }> = {
  SQLite: {
    async open() {
      const place = await sqlitePlace();
      return planned(place, sqliteDialect(place.file), async (db, { sql: text, parameters }) => {
        const { rows } = await db.executeQuery<{ detail: string }>(
          CompiledQuery.raw(`explain query plan ${text}`, [...parameters]),
        );
        return rows.map(({ detail }) => detail).join("\n");
      });
    },
    unbounded: (plan) =>
      (plan.match(/^SCAN .*/gm) ?? []).filter(
        (line) => !/^SCAN (\(|agents|orgs|of_role|chosen|ended|CONSTANT ROW)/.test(line),
      ),
  },
  Postgres: {
    async open() {
      const place = await postgresPlace();
      const dialect = await postgresDialect(place.database.url, { log: silentLog });
      return planned(place, dialect, (db, { sql: text, parameters }) =>
        db.connection().execute(async (one) => {
          // Empty tables are read whole, whatever their indexes.
          await one.executeQuery(CompiledQuery.raw("set enable_seqscan = off"));
          await one.executeQuery(CompiledQuery.raw("set enable_bitmapscan = off"));
          const { rows } = await one.executeQuery<Record<string, string>>(
            CompiledQuery.raw(`explain ${text}`, [...parameters]),
          );
          return rows.map((row) => Object.values(row).join()).join("\n");
        }),
      );
    },
    unbounded(plan) {
      const nodes = plan.split(/\n(?=.*\(cost)/);
      return nodes.filter((node) => {
        const [, table] = /Scan (?:Backward )?(?:using \S+ )?on (\w+)/.exec(node) ?? [];
        return table !== undefined && !/^(agents|orgs|ended|chosen)$/.test(table) && !node.includes("Index Cond");
      });
    },
  },
};
