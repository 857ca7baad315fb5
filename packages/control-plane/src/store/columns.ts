import { randomBytes } from "node:crypto";

/** Leaves out the properties that are null or undefined: columns use null, records leave optional properties out. */
export function withoutNulls<T extends object>(members: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const kept: { [K in keyof T]?: NonNullable<T[K]> } = {};
  for (const name in members) if (members[name] !== null && members[name] !== undefined) kept[name] = members[name];
  return kept;
}

/** A text column with the JSON of a `T`. Only the store writes it, so it is parsed without validation. */
export type Json<T> = string & { readonly holds?: T };

export function toJson<T>(value: T): Json<T> {
  return JSON.stringify(value);
}

export function fromJson<T>(text: Json<T>): T {
  return JSON.parse(text) as T;
}

/** An ISO 8601 time in UTC. */
export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** Ids per statement. SQLite allows 32,766 values per statement, Postgres twice as many. */
const IDS = 8192;

/**
 * Splits `ids` into lists for `in (…)`. Each list is padded with its last id to a power of two: prepared statements are cached
 * by their text, and every length would be another statement.
 */
export function* idBatches(ids: readonly string[]): Generator<string[]> {
  for (let at = 0; at < ids.length; at += IDS) {
    const batch = ids.slice(at, at + IDS);
    const length = 2 ** Math.ceil(Math.log2(batch.length));
    yield batch.concat(Array<string>(length - batch.length).fill(batch.at(-1)!));
  }
}

/** Makes the ids of this process unique. */
const PROCESS = randomBytes(8).toString("hex");

let counter = 0;

/**
 * An id that sorts after the earlier ids of this process, which orders rows of the same millisecond. It sorts by digits only,
 * which every collation of a database orders in the same way.
 */
export function sortableId(prefix: string): string {
  counter = (counter + 1) % 100_000_000;
  const time = Date.now().toString().padStart(15, "0");
  return `${prefix}_${time}${counter.toString().padStart(8, "0")}${PROCESS}`;
}
