import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Postgres } from "./postgres.ts";
import { seedStatements, type Seed, type Table } from "./seed.ts";

/** Where a deployment of Patchbay stores its data. Each round uses a fresh copy of a template. */
export interface Storage {
  /** Options of the commands that fill the template. */
  template: readonly string[];
  copy(): Promise<Copy>;
}

export interface Copy extends AsyncDisposable {
  /** Options of `patchbay serve`. */
  options: readonly string[];
  databaseCpuMs?(): number;
  /** Copies stored runs, while no replica uses the database. */
  seed(seed: Seed): Promise<void>;
  /** Size of the database. */
  bytes(): Promise<number>;
}

/** Name of the embedded database in its folder. */
const FILE = "patchbay.db";

/** The embedded database, in a folder. */
export function embedded(folder: string): Storage {
  const template = join(folder, "template");
  mkdirSync(template, { recursive: true });
  return {
    template: ["--data-dir", template],
    async copy() {
      const data = mkdtempSync(join(folder, "data-"));
      cpSync(template, data, { recursive: true });
      return {
        options: ["--data-dir", data],
        seed: async (seed) => {
          using database = new DatabaseSync(join(data, FILE));
          // A checkpoint at the end, as the seeding is one transaction.
          database.exec("pragma foreign_keys = on; begin");
          for (const statement of seedStatements(tablesOf(database), seed)) database.exec(statement);
          database.exec("commit; pragma wal_checkpoint(truncate)");
        },
        bytes: async () => {
          using database = new DatabaseSync(join(data, FILE), { readOnly: true });
          return pragma(database, "page_count") * pragma(database, "page_size");
        },
        [Symbol.asyncDispose]: async () => rmSync(data, { recursive: true, force: true }),
      };
    },
  };
}

const pragma = (database: DatabaseSync, name: string): number =>
  Number(database.prepare(`pragma ${name}`).get()?.[name]);

export function tablesOf(database: DatabaseSync): Table[] {
  const rows = database.prepare(
    `select tables.name as "table", columns.name, columns.type
      from sqlite_schema tables join pragma_table_info(tables.name) columns where tables.type = 'table'`,
  );
  const grouped = Map.groupBy(rows.all() as { table: string; name: string; type: string }[], ({ table }) => table);
  return [...grouped].map(([name, columns]) => ({ name, columns }));
}

const TABLES_OF_POSTGRES = `
  select table_name as name, json_agg(json_build_object('name', column_name, 'type', data_type)) as columns
  from information_schema.columns where table_schema = 'public' group by table_name`;

export async function onPostgres(postgres: Postgres, folder: string): Promise<Storage> {
  mkdirSync(folder, { recursive: true });
  const options = (url: string): string[] => ["--database", url, "--data-dir", folder];
  const template = await postgres.createDatabase();
  return {
    template: options(template.url),
    async copy() {
      const database = await postgres.createDatabase(template.name);
      return {
        options: options(database.url),
        databaseCpuMs: () => postgres.cpuMs(),
        seed: async (seed) => {
          const tables = await database.run<Table>(TABLES_OF_POSTGRES);
          // Foreign keys are not checked: each would be looked up row by row.
          await database.run(["set session_replication_role = replica", ...seedStatements(tables, seed)].join(";\n"));
          // As autovacuum does in a running deployment.
          await database.run("vacuum analyze");
          await database.run("checkpoint");
        },
        bytes: async () => {
          const [row] = await database.run<{ bytes: string }>("select pg_database_size(current_database()) as bytes");
          return Number(row?.bytes);
        },
        [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
      };
    },
  };
}
