const DEFAULT_LIMIT = 50;

/** What a list's query asks for, with the size of a page where it names none. */
export function paged<Query extends { limit?: number | undefined }>(query: Query): Query & { limit: number } {
  return { ...query, limit: query.limit ?? DEFAULT_LIMIT };
}
