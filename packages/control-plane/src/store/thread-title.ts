const TITLE_UNITS = 80;
const HALF_CHARACTER = /[\uD800-\uDBFF]$/;

/** The beginning of the query that a thread is called by. */
export function titleOf({ query }: { query: string }): string {
  return beginningOf(query, TITLE_UNITS);
}

/** What a query begins with in a stored request. No text can hold it, since its quotes would be escaped. */
export const QUERY_MEMBER = '"query":"';
/** Characters from there on that hold the title: an escape has at most six. */
export const TITLED_CHARS = QUERY_MEMBER.length + 6 * TITLE_UNITS;

/**
 * The title in the part of a stored request that begins with its query. Queries are up to 100,000 characters long, and a page of threads must not carry
 * and parse a hundred of them.
 */
export function titleIn(part: string): string {
  const [, written = ""] = /^"query":"((?:[^"\\]|\\.)*)/s.exec(part) ?? [];
  // The text may be cut in the middle of an escape.
  for (let end = written.length; end > 0; end--) {
    try {
      return titleOf({ query: JSON.parse(`"${written.slice(0, end)}"`) as string });
    } catch {
      continue;
    }
  }
  return "";
}

/** Up to `units` of a text, and no half of a character. */
export function beginningOf(text: string, units: number): string {
  return text.slice(0, units).replace(HALF_CHARACTER, "");
}
