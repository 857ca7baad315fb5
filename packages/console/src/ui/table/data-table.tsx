import { type ReactNode, type RefObject, useEffect, useRef } from "react";
import { flushSync } from "react-dom";
import { countOf } from "../../format/numbers.ts";
import { useHotkeys } from "../../state/hotkeys.ts";
import { Button } from "../button.tsx";
import { classNames } from "../class-names.ts";
import { focusOnArrival } from "../focus.ts";
import { Icon } from "../icon.tsx";
import { useHeight } from "../measure.ts";
import { Card, type CardProps, ErrorState, Loading } from "../page.tsx";
import { type LiveList, type SteadyRows, useSteadyRows } from "./steady-rows.ts";
import {
  AllRows,
  CHECK,
  type Column,
  FROM,
  historyEntry,
  openedRows,
  SkeletonRows,
  TableRow,
  type TableRowProps,
} from "./table-rows.tsx";

/** A table's order: a column's `sort`, prefixed by a minus for descending order. */
export interface Sort {
  by: string;
  onChange: (by: string) => void;
}

/** The part of an infinite query that the table needs. */
export interface RowsQuery<Row> {
  data: Row[] | undefined;
  error: Error | null;
  isPending: boolean;
  /** The rows are the earlier filter's. */
  isPlaceholderData: boolean;
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
  isPlaceholderData: false,
  hasNextPage: false,
  isFetchingNextPage: false,
  fetchNextPage: () => undefined,
  refetch: () => undefined,
});

/** The rows from a query without pages; `rows` is undefined while it loads. */
export const rowsOf = <Row,>(
  {
    error,
    isPending,
    isPlaceholderData,
    refetch,
  }: Pick<RowsQuery<Row>, "error" | "isPending" | "isPlaceholderData" | "refetch">,
  rows: Row[] | undefined,
): RowsQuery<Row> => ({ ...allRows([]), data: rows, error, isPending, isPlaceholderData, refetch });

interface DataTableProps<Row> extends Pick<CardProps, "description">, Omit<TableRowProps<Row>, "row"> {
  /** The heading. */
  title?: string;
  /** The accessible name. Default: the title. */
  caption?: string;
  /** Buttons and filters in the heading. */
  titleActions?: ReactNode;
  /** Shown below the table; a function that receives the shown rows, or what does not depend on them. */
  children?: ReactNode | ((rows: readonly Row[]) => ReactNode);
  query: RowsQuery<Row>;
  /** Keeps the rows in their places when the list changes, and offers new ones. */
  live?: LiveList;
  empty: ReactNode;
  sort?: Sort;
  /** Scrolls sideways where the columns need more space; the head then scrolls with the rows. */
  scrolls?: boolean;
}

/** A card with a paged list from the API. On narrow screens, rows become cards. */
export function DataTable<Row>({ title, description, titleActions, children, ...table }: DataTableProps<Row>) {
  const steady = useSteadyRows(table);
  const [foot, footPx] = useHeight<HTMLDivElement>();
  return (
    <Card title={title} description={description} actions={titleActions} flush>
      <Table caption={title ?? ""} {...table} steady={steady} footPx={footPx} />
      <div ref={foot} className={classNames(table.live && "sticky bottom-0 z-10")}>
        {typeof children === "function" ? children(steady.rows ?? []) : children}
      </div>
    </Card>
  );
}

interface TableProps<Row> extends Omit<DataTableProps<Row>, "children"> {
  steady: SteadyRows<Row>;
  /** The foot's height; it sticks to the window's end in a live table. */
  footPx: number;
}

function Table<Row>(props: TableProps<Row>) {
  const { caption = "", query, live, columns, rowKey, empty, actions, sort, selection, scrolls = false } = props;
  const { rows, added, moved, show } = props.steady;
  const table = useRef<HTMLTableElement>(null);
  useOpenedRow(table, rows !== undefined);
  useHotkeys((key) => (key === "j" || key === "k") && focusRow(table.current, key === "j" ? 1 : -1));
  if (query.error && !query.data) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  // A search result page covers a limited number of rows: an empty one does not mean that nothing matches.
  if (rows?.length === 0 && !query.hasNextPage) return empty;
  const all = { keys: rows?.map(rowKey) ?? [], row: live?.row };
  const headClass = classNames("border-line bg-surface sticky top-12 z-10 border-b", scrolls && "@max-[90rem]:static");
  return (
    <div className="@container flex flex-col">
      {live && (
        <News
          live={live}
          added={added}
          moved={moved}
          bottomPx={props.footPx}
          onShow={() => {
            flushSync(show);
            focusRow(table.current, 1);
          }}
        />
      )}
      {selection && (
        // Cards on narrow screens have no head.
        <div className="border-line border-b px-4 py-2.5 sm:hidden">
          <AllRows {...all} selection={selection} labelClass="text-muted" />
        </div>
      )}
      <div className={classNames(scrolls && "@max-[90rem]:overflow-x-auto")}>
        <table ref={table} role="table" aria-busy={query.isPending} className="w-full text-sm max-sm:block">
          <caption className="sr-only">{caption}</caption>
          {/* Explicit roles: display: block and grid in the stacked layout remove the implicit ones. */}
          <thead role="rowgroup" className="max-sm:sr-only">
            <tr role="row">
              {selection && (
                <th role="columnheader" scope="col" className={classNames(CHECK, headClass, "max-sm:hidden")}>
                  <AllRows {...all} selection={selection} />
                </th>
              )}
              {columns.map((column) => (
                <Head key={column.head} column={column} sort={sort} className={headClass} />
              ))}
              {actions && (
                <th role="columnheader" className={classNames(headClass, "rounded-tr-lg")}>
                  <span className="sr-only">Actions</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody role="rowgroup" className="max-sm:block">
            {rows === undefined ? (
              <SkeletonRows columns={columns} selectable={selection !== undefined} />
            ) : (
              rows.map((row) => <TableRow key={rowKey(row)} row={row} {...props} />)
            )}
          </tbody>
        </table>
      </div>
      {query.isPending && (
        <Loading label={`Loading ${caption.toLowerCase()}`}>
          <span />
        </Loading>
      )}
      <More query={query} />
    </div>
  );
}

interface HeadProps<Row> {
  column: Column<Row>;
  sort: Sort | undefined;
  className: string;
}

const Head = <Row,>({ column, sort, className }: HeadProps<Row>) => (
  <th
    role="columnheader"
    scope="col"
    aria-sort={orderOf(column, sort)}
    className={classNames(
      className,
      "text-muted px-3 py-2 text-xs font-medium whitespace-nowrap first:rounded-tl-lg first:pl-4 last:rounded-tr-lg last:pr-4",
      column.align === "end" ? "text-right" : "text-left",
      column.from && FROM[column.from],
    )}
  >
    {sort && column.sort !== undefined ? <SortButton column={column} sort={sort} /> : column.head}
  </th>
);

interface NewsProps {
  live: LiveList;
  added: number;
  moved: boolean;
  /** The distance to the window's end. */
  bottomPx: number;
  onShow: () => void;
}

/**
 * Offers the rows that are not shown yet, before the rows in keyboard order. Its space below the table is always kept,
 * so that the button moves nothing and covers neither the head nor the last row. It stays in the window while rows are
 * below it.
 */
const News = ({ live: { row, rows }, added, moved, bottomPx, onShow }: NewsProps) => (
  <div
    role="status"
    style={{ bottom: bottomPx }}
    className="pointer-events-none sticky z-20 order-1 flex h-9 items-center justify-center"
  >
    {(added > 0 || moved) && (
      <Button size="small" look="primary" icon="send" className="shadow-raised pointer-events-auto" onClick={onShow}>
        {added > 0 ? `Show ${countOf(added, `new ${row}`, rows && `new ${rows}`)}` : "Sort again"}
      </Button>
    )}
  </div>
);

/** Focuses the row opened from this history entry, so that Back returns to its place. */
function useOpenedRow(table: RefObject<HTMLTableElement | null>, loaded: boolean): void {
  useEffect(() => {
    const key = openedRows.get(historyEntry());
    if (!loaded || key === undefined) return;
    const row = table.current?.querySelector(`[data-row="${CSS.escape(key)}"]`);
    focusOnArrival(row?.querySelector<HTMLElement>("[data-row-link]"));
  }, [table, loaded]);
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
    <div className="border-line order-1 flex flex-wrap items-center justify-center gap-3 border-t p-3">
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
