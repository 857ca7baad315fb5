/** One statement takes 32,766 values in SQLite, twice as many in Postgres. */
const IDS = 8192;

/**
 * `ids` for as few `in (…)` lists as the databases allow. A list is filled up with its last id to the next power of two:
 * statements are kept by their text, and each length would be one of its own.
 */
export function* idBatches(ids: readonly string[]): Generator<string[]> {
  for (let at = 0; at < ids.length; at += IDS) {
    const batch = ids.slice(at, at + IDS);
    const length = 2 ** Math.ceil(Math.log2(batch.length));
    yield batch.concat(Array<string>(length - batch.length).fill(batch.at(-1)!));
  }
}
