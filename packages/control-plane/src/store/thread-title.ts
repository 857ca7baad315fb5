const TITLE_UNITS = 80;
const HALF_CHARACTER = /[\uD800-\uDBFF]$/;

/** The beginning of the query that a thread is called by. */
export function titleOf({ query }: { query: string }): string {
  return query.slice(0, TITLE_UNITS).replace(HALF_CHARACTER, "");
}
