import { isDeepStrictEqual } from "node:util";
import { FunctionError } from "@patchbay/functions";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";

/** A suite's data: rows by table. */
export type Tables = Record<string, JsonObject[]>;
/** New and changed rows by table. The ids of removed rows are in the table's name with a minus before it. */
export type Changes = Record<string, JsonValue[]>;

/** The data of one play, which handlers read and change. */
export class Records {
  readonly tables: Tables;
  readonly #initial: Tables;

  constructor(tables: Tables, planted: Record<string, JsonValue> = {}) {
    this.tables = structuredClone(tables);
    for (const [path, value] of Object.entries(planted)) put(this.tables, path, value);
    this.#initial = structuredClone(this.tables);
  }

  all<R = JsonObject>(table: string, where: JsonObject = {}): R[] {
    return this.#rows(table).filter((row) => isMatch(row, where)) as R[];
  }

  /** A row; without one, the call fails. */
  one(table: string, where: JsonObject): JsonObject {
    const [row] = this.all(table, where);
    if (!row) throw new FunctionError(`No ${table} with ${JSON.stringify(where)}.`);
    return row;
  }

  add(table: string, row: object): { id: string } {
    const rows = this.#rows(table);
    const id = `${table}-${rows.length + 1}`;
    rows.push({ id, ...row });
    return { id };
  }

  change(table: string, where: JsonObject, values: object): { id: string } {
    const row = Object.assign(this.one(table, where), values);
    return { id: textOf(row["id"]) };
  }

  remove(table: string, where: JsonObject): { id: string } {
    const row = this.one(table, where);
    this.tables[table] = this.#rows(table).filter((other) => other !== row);
    return { id: textOf(row["id"]) };
  }

  changes(): Changes {
    const entries = Object.entries(this.tables).flatMap(([table, rows]) => {
      const before = this.#initial[table]!;
      const ids = new Set(rows.map(({ id }) => id));
      const written = rows.filter((row) => !before.some((old) => isDeepStrictEqual(old, row)));
      const removed = before.flatMap(({ id = "" }) => (ids.has(id) ? [] : [id]));
      return [[table, written] as const, [`-${table}`, removed] as const];
    });
    return Object.fromEntries(entries.filter(([, rows]) => rows.length > 0));
  }

  #rows(table: string): JsonObject[] {
    const rows = this.tables[table];
    if (!rows) throw new Error(`The suite has no table ${table}.`);
    return rows;
  }
}

/** A text unchanged, and any other value as JSON. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** True if a row has these values. A text that begins with `~` is a part of the row's text. */
export function isMatch(row: JsonObject, where: JsonObject): boolean {
  return Object.entries(where).every(([key, value]) =>
    typeof value === "string" && value.startsWith("~")
      ? textOf(row[key]).includes(value.slice(1))
      : isDeepStrictEqual(row[key], value),
  );
}

/** True if the changes are the expected ones. An expected row without an id equals a row with any. */
export function areChanges(actual: Changes, expected: Changes): boolean {
  const comparable = (row: JsonValue, wanted: JsonValue | undefined): JsonValue => {
    if (!isJsonObject(row) || !isJsonObject(wanted) || "id" in wanted) return row;
    const { id: _, ...rest } = row;
    return rest;
  };
  const found = Object.entries(actual).map(([table, rows]) => [
    table,
    rows.map((row, i) => comparable(row, expected[table]?.[i])),
  ]);
  return isDeepStrictEqual(Object.fromEntries(found), expected);
}

/** Sets the value at a path. After `+` it is appended: a row to a table, a text to a text. */
function put(tables: Tables, path: string, value: JsonValue): void {
  const keys = path.replace(/\+$/, "").split(".");
  const last = keys.pop()!;
  let place = tables as unknown as Record<string, JsonValue> | undefined;
  for (const key of keys) place = place?.[key] as Record<string, JsonValue> | undefined;
  const old = place?.[last];
  if (place === undefined || old === undefined)
    throw new Error(`The suite has nothing at ${path}. Quote planted texts with a comma.`);
  if (!path.endsWith("+")) place[last] = value;
  else if (Array.isArray(old)) old.push(value);
  else place[last] = `${textOf(old)} ${textOf(value)}`;
}
