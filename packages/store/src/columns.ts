import { randomBytes, wallMs } from "@patchbay/kit/time";
import { wellFormedJson } from "@patchbay/kit";
import type { Manifest } from "@patchbay/protocol";
import { type AliasableExpression, type RawBuilder, sql } from "kysely";
import { ownTurn } from "@patchbay/engine/ports/own-turn";

/** Omits the properties that are null or undefined: columns use null, records omit optional properties. */
export function withoutNulls<T extends object>(members: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const kept: { [K in keyof T]?: NonNullable<T[K]> } = {};
  for (const name in members) if (members[name] !== null && members[name] !== undefined) kept[name] = members[name];
  return kept;
}

/** A text column with a `T` in JSON. Only the store writes it, so it is parsed without validation. */
export type Json<T> = string & { readonly holds?: T };

export function toJson<T>(value: T): Json<T> {
  return wellFormedJson(JSON.stringify(value));
}

export function fromJson<T>(text: Json<T>): T {
  return JSON.parse(text) as T;
}

/** The manifest in a column, which may have half a megabyte. */
export async function manifestIn(body: Json<Manifest>): Promise<Manifest> {
  await ownTurn();
  return fromJson(body);
}

/** The columns and selections of an insert whose values come from other rows. */
export const selected = <Values extends Record<string, AliasableExpression<unknown>>>(values: Values) => ({
  columns: Object.keys(values) as (keyof Values & string)[],
  selections: Object.entries(values).map(([name, value]) => value.as(name)),
});

/** In an upsert, the values of the rejected row in these columns. */
export const excluded = <Column extends string>(...columns: Column[]) =>
  Object.fromEntries(columns.map((column) => [column, sql.ref(`excluded.${column}`)])) as {
    [Name in Column]: RawBuilder<never>;
  };

/** Ids per statement. SQLite allows 32,766 values per statement, Postgres twice as many. */
const IDS = 8192;

/**
 * Splits `ids` into lists for `in (…)`. Each list is padded with its last id to a power of two: prepared statements are
 * cached by their text, and every length would be another statement.
 */
export function* idBatches(ids: readonly string[]): Generator<string[]> {
  for (let at = 0; at < ids.length; at += IDS) {
    const batch = ids.slice(at, at + IDS);
    const length = 2 ** Math.ceil(Math.log2(batch.length));
    yield batch.concat(Array<string>(length - batch.length).fill(batch.at(-1)!));
  }
}

/** The rows that `read` finds for the batches of `ids`. */
export async function inBatches<Row>(
  ids: readonly string[],
  read: (batch: string[]) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const batch of idBatches(ids)) rows.push(...(await read(batch)));
  return rows;
}

/** Makes the ids of this process unique. */
const PROCESS = randomBytes(8).toString("hex");

let counter = 0;

/**
 * An id that sorts after this process's earlier ids, which orders rows in the same millisecond. It sorts by digits
 * only, which all database collations order equally.
 */
export function sortableId(prefix: string): string {
  counter = (counter + 1) % 100_000_000;
  const time = wallMs().toString().padStart(15, "0");
  return `${prefix}_${time}${counter.toString().padStart(8, "0")}${PROCESS}`;
}
