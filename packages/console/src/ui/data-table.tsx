import { type MouseEvent, type ReactElement, type ReactNode, type RefObject, useEffect, useRef } from "react";
import { useHotkeys } from "../state/hotkeys.ts";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { Icon } from "./icon.tsx";
import { ErrorState, Loading, Skeleton } from "./page.tsx";

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ReactNode;
  /** Numbers align at the end. */
  align?: "end";
  /** Hidden in tables narrower than this, except in the stacked layout. */
  from?: "md" | "lg" | "xl" | "2xl";
  className?: string;
  /** The sort key of this column, for tables with `sort`. */
  sort?: string;
}

/** The order of a table: a column's `sort`, prefixed by a minus for descending order. */
export interface Sort {
  by: string;
  onChange: (by: string) => void;
}

/** Props for the link or button of a row: it covers the whole row. */
export interface RowLinkProps {
  className: string;
  "data-row-link": "";
  children: ReactNode;
}

/** The part of an infinite query that the table needs. */
export interface RowsQuery<Row> {
  data: Row[] | undefined;
  error: Error | null;
  isPending: boolean;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
  refetch: () => unknown;
}

/** A query result with these rows and no more, for rows that another query has fetched. */
export const allRows = <Row,>(rows: Row[]): RowsQuery<Row> => ({
  data: rows,
  error: null,
  isPending: false,
  hasNextPage: false,
  isFetchingNextPage: false,
  fetchNextPage: () => undefined,
  refetch: () => undefined,
});

/** The rows of a query without pages; `rows` is undefined while it loads. */
export const rowsOf = <Row,>(
  { error, isPending, refetch }: Pick<RowsQuery<Row>, "error" | "isPending" | "refetch">,
  rows: Row[] | undefined,
): RowsQuery<Row> => ({ ...allRows([]), data: rows, error, isPending, refetch });

interface DataTableProps<Row> {
  /** The accessible name. */
  caption: string;
  query: RowsQuery<Row>;
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  /** Renders the first cell as a link or button that covers the row. `j` and `k` move between rows. */
  link?: (row: Row, props: RowLinkProps) => ReactElement;
  /** Buttons at a row's end. */
  actions?: (row: Row) => ReactNode;
  empty: ReactNode;
  sort?: Sort;
}

/** Widths of the table, not of the window: the navigation takes a part of wide windows only. */
const FROM = {
  md: "sm:@max-2xl:hidden",
  lg: "sm:@max-4xl:hidden",
  xl: "sm:@max-5xl:hidden",
  "2xl": "sm:@max-6xl:hidden",
};
const LINK =
  "after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 after:outline-focus after:-outline-offset-2 after:rounded-md";

/** A paged list of the API. On narrow screens, rows become cards. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, query, columns, rowKey, empty, actions, sort } = props;
  const table = useRef<HTMLTableElement>(null);
  useOpenedRow(table, query.data !== undefined);
  useHotkeys((key) => (key === "j" || key === "k") && focusRow(table.current, key === "j" ? 1 : -1));
  if (query.error && !query.data) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  // A page of a search covers a limited number of rows: an empty one does not mean that nothing matches.
  if (query.data?.length === 0 && !query.hasNextPage) return empty;
  return (
    <div className="@container">
      <table ref={table} role="table" aria-busy={query.isPending} className="w-full text-sm max-sm:block">
        <caption className="sr-only">{caption}</caption>
        {/* Explicit roles: display: block and grid of the stacked layout remove the implicit ones. */}
        <thead role="rowgroup" className="max-sm:sr-only">
          <tr role="row">
            {columns.map((column) => (
              <th
                key={column.head}
                role="columnheader"
                scope="col"
                aria-sort={orderOf(column, sort)}
                className={classNames(
                  "border-line bg-surface text-muted sticky top-12 z-10 border-b px-3 py-2 text-xs font-medium whitespace-nowrap first:rounded-tl-lg first:pl-4 last:rounded-tr-lg last:pr-4",
                  column.align === "end" ? "text-right" : "text-left",
                  column.from && FROM[column.from],
                )}
              >
                {sort && column.sort !== undefined ? <SortButton column={column} sort={sort} /> : column.head}
              </th>
            ))}
            {actions && (
              <th role="columnheader" className="border-line bg-surface sticky top-12 z-10 rounded-tr-lg border-b">
                <span className="sr-only">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody role="rowgroup" className="max-sm:block">
          {query.data === undefined ? (
            <SkeletonRows columns={columns} />
          ) : (
            query.data.map((row) => <TableRow key={rowKey(row)} row={row} {...props} />)
          )}
        </tbody>
      </table>
      {query.isPending && (
        <Loading label={`Loading ${caption.toLowerCase()}`}>
          <span />
        </Loading>
      )}
      <More query={query} />
    </div>
  );
}

const rowClass = "border-line relative border-b last:border-b-0 max-sm:grid max-sm:gap-1 max-sm:px-4 max-sm:py-3";

/** Hints are above the link that covers the row, so that their tooltips open. `passToLink` forwards their clicks to the link. */
const HINTS =
  "[&_:is(time,[data-hint])]:relative [&_:is(time,[data-hint])]:z-1 [&_:is(time,[data-hint])]:cursor-pointer";

function passToLink({ target, currentTarget, nativeEvent }: MouseEvent<HTMLTableRowElement>): void {
  if (!(target instanceof Element) || target.closest("time, [data-hint]") === null) return;
  currentTarget.querySelector("[data-row-link]")?.dispatchEvent(new globalThis.MouseEvent("click", nativeEvent));
}

/** The key of the row that was opened from each entry of the browser's history. */
const openedRows = new Map<unknown, string>();
const historyEntry = (): unknown => (history.state as { __TSR_key?: unknown } | null)?.__TSR_key;

/** Focuses the row that was opened from this entry of the history, so that Back returns to its place. */
function useOpenedRow(table: RefObject<HTMLTableElement | null>, loaded: boolean): void {
  useEffect(() => {
    const key = openedRows.get(historyEntry());
    if (!loaded || key === undefined) return;
    const row = table.current?.querySelector(`[data-row="${CSS.escape(key)}"]`);
    row?.querySelector<HTMLElement>("[data-row-link]")?.focus({ preventScroll: true });
  }, [table, loaded]);
}

function TableRow<Row>({ row, columns, rowKey, link, actions }: DataTableProps<Row> & { row: Row }) {
  const key = rowKey(row);
  return (
    <tr
      role="row"
      data-row={key}
      onClickCapture={() => openedRows.set(historyEntry(), key)}
      className={classNames(rowClass, link && `hover:bg-hover/60 ${HINTS}`)}
      {...(link && { onClick: passToLink })}
    >
      {columns.map((column, index) => {
        const content = column.cell(row);
        return (
          <td
            key={column.head}
            role="cell"
            className={classNames(
              "align-middle sm:px-3 sm:py-2.5 sm:first:pl-4 sm:last:pr-4",
              "max-sm:flex max-sm:items-baseline max-sm:justify-between max-sm:gap-4",
              column.align === "end" && "sm:text-right",
              // Any word of the first column may break, but not into single letters.
              index === 0 && "sm:min-w-32 sm:wrap-anywhere",
              column.from && FROM[column.from],
              column.className,
            )}
          >
            {index > 0 && (
              <span aria-hidden="true" className="text-muted shrink-0 text-xs sm:hidden">
                {column.head}
              </span>
            )}
            {index === 0 && link ? (
              link(row, { className: LINK, "data-row-link": "", children: content })
            ) : (
              <span className="min-w-0 max-sm:text-right max-sm:only:text-left">{content}</span>
            )}
          </td>
        );
      })}
      {actions && (
        <td role="cell" className="relative z-1 text-right align-middle sm:py-1 sm:pr-3">
          <div className="inline-flex items-center gap-1">{actions(row)}</div>
        </td>
      )}
    </tr>
  );
}

function SkeletonRows<Row>({ columns }: { columns: readonly Column<Row>[] }) {
  return Array.from({ length: 6 }, (_, row) => (
    <tr key={row} role="row" className={rowClass}>
      {columns.map((column) => (
        <td
          key={column.head}
          role="cell"
          className={classNames("sm:px-3 sm:py-3 sm:first:pl-4", column.from && FROM[column.from])}
        >
          <Skeleton className="h-4 w-3/4" />
        </td>
      ))}
    </tr>
  ));
}

function orderOf<Row>({ sort: own }: Column<Row>, sort: Sort | undefined): "ascending" | "descending" | undefined {
  if (!sort || own === undefined) return undefined;
  return sort.by === own ? "ascending" : sort.by === `-${own}` ? "descending" : undefined;
}

/** The first click sorts numbers in descending and text in ascending order. */
function SortButton<Row>({ column, sort }: { column: Column<Row>; sort: Sort }) {
  const order = orderOf(column, sort);
  const first = column.align === "end" ? `-${column.sort}` : column.sort!;
  const second = column.align === "end" ? column.sort! : `-${column.sort}`;
  return (
    <button
      type="button"
      className="hover:text-text -mx-1 inline-flex items-center gap-1 rounded px-1"
      onClick={() => sort.onChange(sort.by === first ? second : first)}
    >
      {column.align !== "end" && column.head}
      <Icon
        name="down"
        className={classNames("size-3", order === "ascending" && "rotate-180", order === undefined && "opacity-0")}
      />
      {column.align === "end" && column.head}
    </button>
  );
}

function More<Row>({ query }: Pick<DataTableProps<Row>, "query">) {
  if (!query.hasNextPage && !query.error) return null;
  const found = query.data === undefined || query.data.length > 0;
  return (
    <div className="border-line flex flex-wrap items-center justify-center gap-3 border-t p-3">
      {!found && !query.error && (
        <p role="status" className="text-muted text-sm">
          No matches among the newest rows.
        </p>
      )}
      {query.error && (
        <p role="alert" className="text-bad text-sm">
          {query.error.message}
        </p>
      )}
      <Button busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {query.error ? "Try again" : found ? "Load more" : "Search older rows"}
      </Button>
    </div>
  );
}

/** Focuses the next or previous row, or the first if no row has the focus. Returns false if there is no such row. */
function focusRow(table: HTMLTableElement | null, step: 1 | -1): boolean {
  const links = [...(table?.querySelectorAll<HTMLElement>("[data-row-link]") ?? [])];
  const at = links.findIndex((link) => link.closest("tr")?.contains(document.activeElement));
  const next = at === -1 ? links[0] : links[at + step];
  next?.focus();
  next?.closest("tr")?.scrollIntoView({ block: "nearest" });
  return next !== undefined;
}
