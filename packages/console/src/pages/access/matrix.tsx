import type { AccessMatrix } from "@patchbay/protocol/console";
import { Link } from "@tanstack/react-router";
import { Fragment, type KeyboardEvent, memo, useRef, useState } from "react";
import { toFunction } from "../../state/addresses.ts";
import { useHotkeys } from "../../state/hotkeys.ts";
import { classNames } from "../../ui/class-names.ts";
import { Icon } from "../../ui/icon.tsx";
import { Badge, Effect } from "../../ui/values.tsx";
import { MatrixCellButton } from "./matrix-cell.tsx";
import { cellKey, countVerdicts, type MatrixRow, roleKey, roleLabel } from "../../parts/access/matrix-model.ts";

interface MatrixProps {
  agentId: string;
  matrix: AccessMatrix;
  /** The functions that match the filters. */
  rows: readonly MatrixRow[];
  /** The highlighted role's index. */
  highlighted: number | undefined;
  onHighlight: (role: string | null | undefined) => void;
  onOpen: (cell: string) => void;
}

/** A position in the grid: row 0 holds the roles, column 0 the function names. */
type Position = readonly [row: number, column: number];

/** Functions by role, as a scrollable ARIA grid: one cell is in the tab order; arrows, Home, End, j and k move from there. */
export function Matrix(props: MatrixProps) {
  const { agentId, matrix, rows, highlighted, onOpen } = props;
  const table = useRef<HTMLTableElement>(null);
  const [[row, column], setActive] = useState<Position>([1, 1]);
  const active: Position = [Math.min(row, rows.length), column];

  const goTo = (to: Position): boolean => {
    const at: Position = [clamp(to[0], 0, rows.length), clamp(to[1], to[0] <= 0 ? 1 : 0, matrix.roles.length)];
    const target = table.current?.querySelector<HTMLElement>(`[data-position="${at.join()}"]`);
    target?.focus();
    return target !== undefined && target !== null;
  };
  useHotkeys((key) => (key === "j" || key === "k") && goTo(stepFrom(active, key, table.current)));

  const onKeyDown = (event: KeyboardEvent): void => {
    const to = positionAfter(event, active, rows.length, matrix.roles.length);
    if (to && goTo(to)) event.preventDefault();
  };
  return (
    <div
      className="max-h-[max(24rem,calc(100dvh-15rem))] scroll-pt-16 scroll-pl-38 overflow-auto rounded-lg sm:scroll-pl-82"
      data-matrix=""
    >
      <table
        ref={table}
        role="grid"
        aria-label="Functions by role"
        className="w-full border-separate border-spacing-0 text-sm"
        onKeyDown={onKeyDown}
        onFocus={({ target }) => {
          const position = target.closest<HTMLElement>("[data-position]")?.dataset["position"];
          if (position !== undefined) setActive(position.split(",").map(Number) as unknown as Position);
        }}
      >
        <Head {...props} active={active} />
        <tbody>
          {rows.map((fn, index) => (
            <Row
              key={fn.name}
              agentId={agentId}
              row={fn}
              roles={matrix.roles}
              number={index + 1}
              active={active[0] === index + 1 ? active[1] : undefined}
              highlighted={highlighted}
              onOpen={onOpen}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const clamp = (value: number, least: number, most: number): number => Math.max(least, Math.min(most, value));

/** The first j or k focuses the active cell, as Tab would; later ones move by a row. */
function stepFrom([row, column]: Position, key: "j" | "k", table: HTMLTableElement | null): Position {
  if (!table?.contains(document.activeElement)) return [row, column];
  return [row + (key === "j" ? 1 : -1), column];
}

function positionAfter(
  event: KeyboardEvent,
  [row, column]: Position,
  rows: number,
  columns: number,
): Position | undefined {
  const far = event.ctrlKey || event.metaKey;
  if (event.altKey || event.shiftKey || (far && event.key !== "Home" && event.key !== "End")) return undefined;
  const positions: Record<string, Position> = {
    ArrowDown: [row + 1, column],
    ArrowUp: [row - 1, column],
    ArrowRight: [row, column + 1],
    ArrowLeft: [row, column - 1],
    Home: [far ? 1 : row, 0],
    End: [far ? rows : row, columns],
  };
  return positions[event.key];
}

const edgeClass = "bg-surface border-line sticky";

const Head = ({ matrix, rows, highlighted, onHighlight, active }: MatrixProps & { active: Position }) => (
  <thead>
    <tr>
      <th
        scope="col"
        className={classNames(edgeClass, "top-0 left-0 z-20 w-36 border-r border-b px-4 text-left sm:w-80")}
      >
        <span className="text-muted text-xs font-medium">Function</span>
      </th>
      {matrix.roles.map((role, column) => {
        const { allowed, approval = 0, conditional } = countVerdicts(rows, column);
        const pressed = highlighted === column;
        return (
          <th
            key={roleKey(role)}
            scope="col"
            className={classNames(edgeClass, "top-0 z-10 border-b p-1 text-left font-normal")}
          >
            <button
              type="button"
              data-position={`0,${column + 1}`}
              tabIndex={active[0] === 0 && active[1] === column + 1 ? 0 : -1}
              aria-pressed={pressed}
              onClick={() => onHighlight(pressed ? undefined : role)}
              className={classNames(
                "w-full min-w-28 rounded-md px-2 py-1.5 text-left transition-colors",
                pressed ? "bg-accent-soft text-accent" : "hover:bg-hover",
              )}
            >
              <span className="flex items-center gap-1.5">
                <span
                  className={classNames("max-w-40 truncate font-medium", role === null && "italic")}
                  title={roleLabel(role)}
                >
                  {roleLabel(role)}
                </span>
                {role !== null && role === matrix.defaultRole && <Badge>default</Badge>}
              </span>
              <span className={classNames("text-xs", !pressed && "text-faint")}>
                {allowed + approval + conditional} of {rows.length}
              </span>
            </button>
          </th>
        );
      })}
    </tr>
  </thead>
);

/** Lets long names wrap between their words. */
const breakable = (name: string) =>
  name.split(/(?<=[_.-])/).map((part, index) => (
    // The index is a safe key: a name's parts never change.
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));

interface RowProps {
  agentId: string;
  row: MatrixRow;
  roles: AccessMatrix["roles"];
  number: number;
  /** The column that is in the tab order; undefined if it is in another row. */
  active: number | undefined;
  highlighted: number | undefined;
  onOpen: (cell: string) => void;
}

/** Memoised: a matrix may have thousands of cells, and moving the focus would render them all. */
const Row = memo(function Row({ agentId, row, roles, number, active, highlighted, onOpen }: RowProps) {
  return (
    <tr className="group/row">
      <th
        scope="row"
        className={classNames(
          edgeClass,
          "group-hover/row:bg-hover left-0 z-10 w-36 border-r border-b px-4 py-1.5 text-left font-normal group-last/row:border-b-0 sm:w-80",
        )}
      >
        <span className="flex min-w-28 flex-wrap items-center gap-x-2 gap-y-1 sm:min-w-72">
          <Link
            {...toFunction(agentId, row.name)}
            data-position={`${number},0`}
            tabIndex={active === 0 ? 0 : -1}
            className="min-w-0 font-mono text-xs font-medium hover:underline sm:flex-1"
          >
            {breakable(row.name)}
          </Link>
          {row.restrictedFields.length > 0 && (
            <span className="text-muted inline-flex items-center gap-0.5 text-xs" title="Restricted result fields">
              <Icon name="key" className="size-3" />
              {row.restrictedFields.length}
              <span className="sr-only"> restricted fields</span>
            </span>
          )}
          <Effect effect={row.effect} />
        </span>
      </th>
      {row.cells.map((cell, column) => {
        const role = roles[column] ?? null;
        return (
          <td
            key={roleKey(role)}
            className={classNames(
              "border-line group-hover/row:bg-hover border-b p-1 group-last/row:border-b-0",
              highlighted === column && "bg-accent-soft/60",
            )}
          >
            <MatrixCellButton
              {...{ row, cell, role }}
              position={`${number},${column + 1}`}
              focusable={active === column + 1}
              onOpen={() => onOpen(cellKey(row.name, role))}
            />
          </td>
        );
      })}
    </tr>
  );
});
