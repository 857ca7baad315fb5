import type { KeyboardEvent } from "react";
import type { TraceRow } from "./rows.ts";

interface TreeActions {
  rows: readonly TraceRow[];
  /** The focused row's ID. */
  active: string;
  focus: (id: string) => void;
  setOpen: (id: string, open: boolean) => void;
  select: (id: string) => void;
  /** Selects the next span that failed or was denied. */
  goToProblem: () => void;
  /** Clears the selection; false if nothing is selected. */
  close: () => boolean;
}

/** Handles a tree grid's keys, and `p`, `t` and `n` in the waterfall. */
export function handleTreeKey(event: KeyboardEvent, actions: TreeActions): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (act(event.key, actions)) {
    event.preventDefault();
    event.stopPropagation();
  }
}

function act(key: string, { rows, active, focus, setOpen, select, goToProblem, close }: TreeActions): boolean {
  const at = Math.max(
    0,
    rows.findIndex(({ span }) => span.id === active),
  );
  const row = rows[at];
  if (!row) return false;
  const go = (to: TraceRow | undefined): boolean => {
    if (to) focus(to.span.id);
    return true;
  };
  const parent = rows.find(({ span }) => span.id === row.span.parentId);
  switch (key) {
    case "ArrowDown":
    case "j":
      return go(rows[at + 1]);
    case "ArrowUp":
    case "k":
      return go(rows[at - 1]);
    case "Home":
    case "t":
      return go(rows[0]);
    case "End":
      return go(rows.at(-1));
    case "p":
      return go(parent);
    case "ArrowRight":
      if (row.parent && !row.open) setOpen(row.span.id, true);
      else if (row.open) go(rows[at + 1]);
      return true;
    case "ArrowLeft":
      if (row.open) setOpen(row.span.id, false);
      else go(parent);
      return true;
    case "Enter":
    case " ":
      select(row.span.id);
      return true;
    case "n":
      goToProblem();
      return true;
    case "Escape":
      return close();
    default:
      return false;
  }
}
