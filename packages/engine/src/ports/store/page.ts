/** One page of a list. */
export interface Page<Item> {
  items: Item[];
  nextCursor: string | null;
}

/** `cursor`: the `nextCursor` of the page before. */
export interface PageAsked {
  limit: number;
  cursor?: string | undefined;
}
