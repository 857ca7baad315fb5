import type { Compilable, CompiledQuery, QueryResult } from "kysely";
import type { StoreDialect } from "./dialect/dialect.ts";
import type { Engine } from "./schema.ts";

/** One statement takes 32,766 values in SQLite, twice as many in Postgres; no row here has more than 24. */
const MOST_ROWS = 1024;

/** Stands for a value while a statement is compiled. */
class Place {
  readonly row: number;
  readonly name: string;

  constructor(row: number, name: string) {
    this.row = row;
    this.name = name;
  }
}

/**
 * A statement that is compiled when it is first used and then only given its values: to build one costs more than to execute
 * it. In their place `build` is given stand-ins, which can be compared, written and handed to `sql`, but not looked at. The
 * values have the same members each time.
 */
export function statement<Values extends object, Row>(
  build: (values: Values, engine: Engine) => Compilable<Row>,
): (engine: Engine, values: Values) => Promise<Row[]> {
  const compiled = compiledOnce<Values, Row>(([values], engine) => build(values!, engine));
  return async (engine, values) => (await execute(engine, compiled, [values])).rows;
}

/** Such a statement for one row to change or insert, without its `returning`, which costs more than the change: true where it was done. */
export function change<Values extends object>(
  build: (values: Values, engine: Engine) => Compilable,
): (engine: Engine, values: Values) => Promise<boolean> {
  const compiled = compiledOnce<Values, unknown>(([values], engine) => build(values!, engine));
  return async (engine, values) => (await execute(engine, compiled, [values])).numAffectedRows === 1n;
}

/** Such a statement for any number of rows to insert. They go by powers of two, so that few statements are compiled. */
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

type Compiled<Values, Row> = (engine: Engine, rows: readonly Values[]) => CompiledQuery<Row>;

function compiledOnce<Values extends object, Row>(
  build: (rows: Values[], engine: Engine) => Compilable<Row>,
): Compiled<Values, Row> {
  const known = new WeakMap<StoreDialect, CompiledQuery<Row>>();
  return (engine, rows) => {
    let compiled = known.get(engine.dialect);
    if (!compiled) known.set(engine.dialect, (compiled = build(rows.map(placesOf), engine).compile()));
    return compiled;
  };
}

function placesOf<Values extends object>(values: Values, row: number): Values {
  return Object.fromEntries(Object.keys(values).map((name) => [name, new Place(row, name)])) as Values;
}

function execute<Values extends object, Row>(
  engine: Engine,
  compiled: Compiled<Values, Row>,
  rows: readonly Values[],
): Promise<QueryResult<Row>> {
  const query = compiled(engine, rows);
  const parameters = query.parameters.map((value) =>
    value instanceof Place ? rows[value.row]![value.name as keyof Values] : value,
  );
  const { connection, db } = engine;
  const given = { ...query, parameters };
  return connection ? connection.executeQuery<Row>(given) : db.executeQuery<Row>(given);
}
