import { useState } from "react";

/** A list whose rows change while it is shown. */
export interface LiveList {
  /** What a row is, such as "run". */
  row: string;
  /** The plural. Default: `row` with an s. */
  rows?: string;
  /** The filter and the order that the member chose: another one replaces the rows at once. */
  filter?: unknown;
  /**
   * True if more rows follow the list's, so that new rows displace its last ones. Default: true if it has another page.
   */
  hasMore?: boolean;
}

interface Update<Row> {
  rows: Row[] | undefined;
  /** Rows that are not shown yet. */
  added: number;
  /** True when the list has another order than the shown rows. */
  moved: boolean;
}

interface SteadyOptions<Row> {
  /** Undefined for a list that shows every change at once. */
  live?: LiveList | undefined;
  rowKey: (row: Row) => string;
  query: { data: Row[] | undefined; isPlaceholderData: boolean; hasNextPage: boolean };
}

/** The rows to show, and a function that adds those that are not shown yet. */
export type SteadyRows<Row> = Update<Row> & { show: () => void };

/**
 * A live list's rows, in their places: a new row would move the others under a member's pointer just before a click.
 * Row values change, and rows that the list no longer has leave.
 */
export function useSteadyRows<Row>({ live, rowKey, query }: SteadyOptions<Row>): SteadyRows<Row> {
  const { data, isPlaceholderData, hasNextPage } = query;
  const filter = JSON.stringify(live?.filter);
  const now = { data, filter };
  const [shown, setShown] = useState<{ data: Row[] | undefined; filter: string | undefined; update: Update<Row> }>({
    ...now,
    update: allOf(data),
  });
  // Another filter's rows stay as they are.
  const show = () => setShown({ ...now, ...(isPlaceholderData && { filter: shown.filter }), update: allOf(data) });
  if (live === undefined) return { ...allOf(data), show };
  const isOutdated = !isPlaceholderData && (data !== shown.data || filter !== shown.filter);
  if (!isOutdated) return { ...shown.update, show };
  const update =
    filter === shown.filter
      ? steadied(shown.update.rows, data, { rowKey, hasMore: live.hasMore ?? hasNextPage })
      : allOf(data);
  setShown({ ...now, update });
  return { ...update, show };
}

const allOf = <Row>(rows: Row[] | undefined): Update<Row> => ({ rows, added: 0, moved: false });

/** The rows shown `before` with their present values, and those that follow the last one, as more are loaded. */
export function steadied<Row>(
  before: Row[] | undefined,
  now: Row[] | undefined,
  { rowKey, hasMore }: { rowKey: (row: Row) => string; hasMore: boolean },
): Update<Row> {
  if (!before?.length || !now) return allOf(now);
  const shown = new Set(before.map(rowKey));
  const current = new Map(now.map((row) => [rowKey(row), row]));
  const end = now.findLastIndex((row) => shown.has(rowKey(row))) + 1;
  const following = end === 0 ? [] : now.slice(end);
  const added = current.size - following.length - before.filter((row) => current.has(rowKey(row))).length;
  const lastKept = before.findLastIndex((row) => current.has(rowKey(row)));
  const isDisplaced = (at: number) => hasMore && added > 0 && at > lastKept;
  const rows = before.flatMap((row, at) => current.get(rowKey(row)) ?? (isDisplaced(at) ? [row] : []));
  if (rows.length === 0) return allOf(now);
  const known = now.filter((row) => shown.has(rowKey(row)));
  const moved = known.some((row, at) => rows[at] !== row);
  return { rows: [...rows, ...following], added, moved };
}
