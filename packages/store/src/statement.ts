import { createHash } from "node:crypto";
import type { Compilable, Expression, ExpressionBuilder, FilterObject, QueryResult, RawBuilder, SqlBool } from "kysely";
import type { NamedQuery } from "@patchbay/database/postgres-connection";
import type { Engine, StoreDialect } from "./engine.ts";
import type { Schema } from "./tables/schema.ts";

/** Condition that each column has its value, or is null where that is null. */
export const is =
  <Table extends keyof Schema>(values: FilterObject<Schema, Table>) =>
  (eb: ExpressionBuilder<Schema, Table>): Expression<SqlBool> =>
    eb.and(values);

/** Rows per statement. SQLite allows 32,766 values per statement, Postgres twice as many; no row here has more than 24. */
const MOST_ROWS = 1024;

/** Marks a value's position while a statement is compiled. */
class Placeholder {
  readonly row: number;
  readonly name: string;

  constructor(row: number, name: string) {
    this.row = row;
    this.name = name;
  }
}

/**
 * A statement compiled once, at its first use. Building a query with Kysely costs more than executing it, so the query
 * path's statements are compiled. `build` gets placeholders instead of values: it may pass them to Kysely and `sql`,
 * but must not inspect them. The values must have the same properties every time.
 */
export function statement<Values extends object, Row>(
  build: (values: Values, engine: Engine) => Built<Row>,
): (engine: Engine, values: Values) => Promise<Row[]> {
  const compiled = compiledOnce<Values, Row>(([values], engine) => build(values!, engine));
  return async (engine, values) => (await execute(engine, compiled, [values])).rows;
}

/** As `statement`, to change or insert one row without `returning`, which is slower. Resolves with true when a row changed. */
export function change<Values extends object>(
  build: (values: Values, engine: Engine) => Compilable,
): (engine: Engine, values: Values) => Promise<boolean> {
  const compiled = compiledOnce<Values, unknown>(([values], engine) => build(values!, engine));
  return async (engine, values) => (await execute(engine, compiled, [values])).numAffectedRows === 1n;
}

/** Executes a statement. True if it changed, added or deleted a row. */
export async function affects({ db }: Pick<Engine, "db">, query: Compilable): Promise<boolean> {
  const { numAffectedRows = 0n } = await db.executeQuery(query);
  return numAffectedRows > 0n;
}

/** As `statement`, to insert any number of rows. Batches are powers of two: few different statements are compiled. */
export function insertion<Values extends object>(
  build: (rows: Values[], engine: Engine) => Compilable,
): (engine: Engine, rows: readonly Values[]) => Promise<void> {
  const sizes: Compiled<Values, unknown>[] = [];
  return async (engine, rows) => {
    for (let at = 0; at < rows.length;) {
      const power = Math.floor(Math.log2(Math.min(rows.length - at, MOST_ROWS)));
      const batch = rows.slice(at, (at += 2 ** power));
      await execute(engine, (sizes[power] ??= compiledOnce(build)), batch);
    }
  };
}

/** A query, or raw SQL. */
type Built<Row> = Compilable<Row> | RawBuilder<Row>;
type Compiled<Values, Row> = (engine: Engine, rows: readonly Values[]) => NamedQuery<Row>;

/** Compiles once per dialect: the databases write the clock and locks differently. */
function compiledOnce<Values extends object, Row>(
  build: (rows: Values[], engine: Engine) => Built<Row>,
): Compiled<Values, Row> {
  const known = new WeakMap<StoreDialect, NamedQuery<Row>>();
  return (engine, rows) => {
    let named = known.get(engine.dialect);
    if (!named) {
      const compiled = build(rows.map(placeholdersOf), engine).compile(engine.db);
      named = { ...compiled, name: nameOf(compiled.sql) };
      known.set(engine.dialect, named);
    }
    return named;
  };
}

/** Equal statements have equal names on all replicas: a pooler may give one replica's connection to another. */
const nameOf = (text: string): string => `patchbay_${createHash("sha256").update(text).digest("hex").slice(0, 20)}`;

function placeholdersOf<Values extends object>(values: Values, row: number): Values {
  return Object.fromEntries(Object.keys(values).map((name) => [name, new Placeholder(row, name)])) as Values;
}

/** Inside a transaction the statement goes directly to its connection, otherwise through Kysely's pool. */
function execute<Values extends object, Row>(
  engine: Engine,
  compiled: Compiled<Values, Row>,
  rows: readonly Values[],
): Promise<QueryResult<Row>> {
  const query = compiled(engine, rows);
  const parameters = query.parameters.map((value) =>
    value instanceof Placeholder ? rows[value.row]![value.name as keyof Values] : value,
  );
  const { connection, db } = engine;
  const given = { ...query, parameters };
  return connection ? connection.executeQuery<Row>(given) : db.executeQuery<Row>(given);
}
