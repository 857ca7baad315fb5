import type { MouseEvent, ReactElement, ReactNode } from "react";
import { countOf } from "../../format/numbers.ts";
import { classNames } from "../class-names.ts";
import { Skeleton } from "../page.tsx";
import { Checkbox } from "../form/toggle.tsx";

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ReactNode;
  /** Numbers align at the end. */
  align?: "end";
  /** Hidden in tables narrower than this, except in the stacked layout. */
  from?: "md" | "lg" | "xl" | "2xl";
  className?: string;
  /** This column's sort key, for tables with `sort`. */
  sort?: string;
}

/** The rows that the member marked, by their keys. */
export interface Selection {
  keys: ReadonlySet<string>;
  onChange: (keys: ReadonlySet<string>) => void;
}

/** Props for a row's link or button: it covers the whole row. */
export interface RowLinkProps {
  className: string;
  "data-row-link": "";
  children: ReactNode;
}

/** Table widths, not window widths: the navigation takes a part of wide windows only. */
export const FROM = {
  md: "sm:@max-2xl:hidden",
  lg: "sm:@max-4xl:hidden",
  xl: "sm:@max-5xl:hidden",
  "2xl": "sm:@max-6xl:hidden",
};
const LINK =
  "after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 after:outline-focus after:-outline-offset-2 after:rounded-md";

/** Scrolls to a place below the page header and the table head, and above the sums and the new rows button. */
const rowClass =
  "border-line relative scroll-mt-24 scroll-mb-24 border-b last:border-b-0 max-sm:grid max-sm:gap-1 max-sm:px-4 max-sm:py-3";

/** Hints are above the link that covers the row, so that their tooltips open. `passToLink` forwards their clicks to the link. */
const HINTS =
  "[&_:is(time,[data-hint])]:relative [&_:is(time,[data-hint])]:z-1 [&_:is(time,[data-hint])]:cursor-pointer";

function passToLink({ target, currentTarget, nativeEvent }: MouseEvent<HTMLTableRowElement>): void {
  if (!(target instanceof Element) || target.closest("time, [data-hint]") === null) return;
  currentTarget.querySelector("[data-row-link]")?.dispatchEvent(new globalThis.MouseEvent("click", nativeEvent));
}

/** The key of the row that was opened from each browser history entry. */
export const openedRows = new Map<unknown, string>();
export const historyEntry = (): unknown => (history.state as { __TSR_key?: unknown } | null)?.__TSR_key;

/** The checkbox column. */
export const CHECK = "border-line w-8 pl-4 align-middle";
/** Cards on narrow screens have their checkbox in the corner, with space for a finger. */
const CARD_CHECK = "max-sm:absolute max-sm:top-0 max-sm:right-0 max-sm:w-auto max-sm:pl-0 max-sm:*:p-4 sm:relative";

interface AllRowsProps {
  keys: readonly string[];
  selection: Selection;
  /** What a row is, such as "run". */
  row?: string | undefined;
  labelClass?: string;
}

export function AllRows({ keys, selection, row = "row", labelClass = "sr-only" }: AllRowsProps) {
  const all = keys.length > 0 && keys.every((key) => selection.keys.has(key));
  return (
    <Checkbox
      label={<span className={labelClass}>Select the {countOf(keys.length, `loaded ${row}`)}</span>}
      checked={all}
      onChange={(checked) => selection.onChange(new Set(checked ? keys : []))}
    />
  );
}

function RowCheckbox({ name, selection }: { name: string; selection: Selection }) {
  return (
    <Checkbox
      label={<span className="sr-only">Select the row</span>}
      checked={selection.keys.has(name)}
      onChange={(checked) =>
        selection.onChange(
          new Set(checked ? [...selection.keys, name] : [...selection.keys].filter((key) => key !== name)),
        )
      }
    />
  );
}

export interface TableRowProps<Row> {
  row: Row;
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  /** Renders the first cell as a link or button that covers the row. `j` and `k` move between rows. */
  link?: ((row: Row, props: RowLinkProps) => ReactElement) | undefined;
  /** Buttons at a row's end. */
  actions?: ((row: Row) => ReactNode) | undefined;
  /** Adds checkboxes. */
  selection?: Selection | undefined;
}

export function TableRow<Row>({ row, columns, rowKey, link, actions, selection }: TableRowProps<Row>) {
  const key = rowKey(row);
  return (
    <tr
      role="row"
      data-row={key}
      onClickCapture={() => openedRows.set(historyEntry(), key)}
      className={classNames(rowClass, link && `hover:bg-hover/60 ${HINTS}`)}
      {...(link && { onClick: passToLink })}
    >
      {selection && (
        <td role="cell" className={classNames(CHECK, CARD_CHECK, "z-1")}>
          <RowCheckbox name={key} selection={selection} />
        </td>
      )}
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
              // Any word in the first column may break, but not into single letters.
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

export function SkeletonRows<Row>({ columns, selectable }: { columns: readonly Column<Row>[]; selectable: boolean }) {
  return Array.from({ length: 6 }, (_, row) => (
    <tr key={row} role="row" className={rowClass}>
      {selectable && <td role="cell" className={classNames(CHECK, CARD_CHECK)} />}
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
