import { readFile } from "node:fs/promises";
import { Client } from "pg";
import type { JsonObject } from "@patchbay/kit";
import type { Place } from "../contract/world.ts";
import { postgresPlace } from "../postgres-place.ts";
import { sqlitePlace } from "../sqlite-place.ts";

export type EngineName = "SQLite" | "Postgres";
export const ENGINE_NAMES: EngineName[] = ["SQLite", "Postgres"];

/** A database of one engine, and how a test changes it. */
export interface MigratedPlace extends Place {
  url: string;
  /** As error messages name it. */
  location: string;
  /** Deletes all tables. */
  drop(): Promise<void>;
  /** Columns, constraints, indexes, triggers and policies, as text. */
  schema(): Promise<JsonObject>;
}

/** An empty database. */
export async function emptyDatabase(engine: EngineName): Promise<MigratedPlace> {
  if (engine === "SQLite") {
    const place = await sqlitePlace();
    return {
      ...place,
      location: place.file,
      drop: async () => undefined,
      schema: () => schemaOf(place, SQLITE_SCHEMA),
    };
  }
  const place = await postgresPlace();
  const { url } = place.database;
  const drop = () => place.execute("drop schema public cascade; create schema public authorization pg_database_owner");
  return {
    ...place,
    url,
    location: url.replace(/:[^:@]*@/, "@"),
    drop,
    schema: () => schemaOf(place, POSTGRES_SCHEMA),
  };
}

/**
 * A database as the version before the squashed migrations leaves it after its last one: the statements of its migrations, and rows
 * in all tables, most of them written by its store.
 */
export async function earlierDatabase(engine: EngineName): Promise<MigratedPlace> {
  const place = await emptyDatabase(engine);
  await place.drop();
  const [tables, rows] = await Promise.all(
    [engine.toLowerCase(), "rows"].map((name) => readFile(new URL(`${name}.sql`, import.meta.url), "utf8")),
  );
  if (engine === "SQLite") await place.execute(`begin; ${tables}${rows} commit;`);
  else await asOwner(place.url, [tables!, rows!]);
  return place;
}

async function asOwner(url: string, scripts: string[]): Promise<void> {
  const client = new Client({ connectionString: url, options: "-c patchbay.org=*" });
  await client.connect();
  for (const script of scripts) await client.query(script);
  await client.end();
}

async function schemaOf(place: Place, queries: Record<string, string>): Promise<JsonObject> {
  const parts: JsonObject = {};
  for (const [name, query] of Object.entries(queries))
    parts[name] = (await place.rows(query)).map((row) => JSON.stringify(Object.values(row)).replace(/(\\n|\s)+/g, " "));
  return parts;
}

const SQLITE_SCHEMA = {
  columns: `select t.name, c.cid, c.name as col, lower(c.type), c."notnull", c.dflt_value, c.pk
    from sqlite_schema t, pragma_table_info(t.name) c where t.type = 'table' order by t.name, c.cid`,
  foreignKeys: `select t.name, k."from", k."table", k."to", k.on_delete
    from sqlite_schema t, pragma_foreign_key_list(t.name) k where t.type = 'table' order by t.name, k."from"`,
  uniqueKeys: `select t.name, i.origin, group_concat(c.name) from sqlite_schema t, pragma_index_list(t.name) i, pragma_index_info(i.name) c
    where t.type = 'table' and i.origin <> 'c' group by t.name, i.name order by t.name, i.name`,
  checks: `select name, instr(sql, 'check (id = 1)') > 0, instr(sql, 'check (micros >= 0)') > 0
    from sqlite_schema where type = 'table' order by name`,
  statements: `select name, sql from sqlite_schema where type in ('index', 'trigger') and sql is not null
    or sql like 'create virtual%' order by name`,
  settings: "select k, v from run_words_config order by k",
};

const POSTGRES_SCHEMA = {
  columns: `select c.table_name, c.column_name, c.data_type, c.is_nullable, c.column_default, c.identity_generation, a.attstorage
    from information_schema.columns c
    join pg_attribute a on a.attrelid = to_regclass(c.table_name) and a.attname = c.column_name
    where c.table_schema = 'public' order by c.table_name, c.ordinal_position`,
  tables: `select relname, relrowsecurity, relforcerowsecurity, reloptions, pg_get_userbyid(relowner) from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' order by relname`,
  constraints: `select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint
    where connamespace = 'public'::regnamespace order by 1, 2`,
  indexes: "select indexname, indexdef from pg_indexes where schemaname = 'public' order by 1",
  policies: `select tablename, policyname, permissive, roles::text, cmd, qual, with_check from pg_policies
    where schemaname = 'public' order by 1, 2`,
  triggers: `select tgname, pg_get_triggerdef(oid) from pg_trigger where not tgisinternal order by tgname`,
  functions: `select proname, prosrc from pg_proc where pronamespace = 'public'::regnamespace order by proname`,
};
