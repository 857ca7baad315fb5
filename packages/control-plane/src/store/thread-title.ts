const TITLE_UNITS = 80;
const HALF_CHARACTER = /[\uD800-\uDBFF]$/;

/** The beginning of the query that a thread is called by. */
export function titleOf({ query }: { query: string }): string {
  return beginningOf(query, TITLE_UNITS);
}

/** Up to `units` of a text, and no half of a character. */
export function beginningOf(text: string, units: number): string {
  return text.slice(0, units).replace(HALF_CHARACTER, "");
}
