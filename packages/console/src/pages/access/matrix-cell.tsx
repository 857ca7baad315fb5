import { formatCompact } from "../../format/numbers.ts";
import { classNames } from "../../ui/class-names.ts";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { Tooltip } from "../../ui/tooltip.tsx";
import { type FoundCell, roleLabel, type Verdict, verdictText, whyOf } from "../../parts/access/matrix-model.ts";

export const VERDICT_LOOKS: Record<Verdict, { icon: IconName; className: string; meaning: string }> = {
  allowed: {
    icon: "succeeded",
    className: "bg-ok-soft text-ok",
    meaning: "in the role list; only the schema of its arguments is checked per call",
  },
  approval: {
    icon: "clock",
    className: "bg-warn-soft text-warn",
    meaning: "in the role list; a person must approve every call, or some calls",
  },
  conditional: {
    icon: "branch",
    className: "bg-info-soft text-info",
    meaning: "in the role list; its authorize check decides per call",
  },
  denied: { icon: "denied", className: "text-faint", meaning: "not in the role list; hidden from the model" },
};

interface MatrixCellButtonProps extends FoundCell {
  /** Row and column. */
  position: string;
  focusable: boolean;
  onOpen: () => void;
}

/** One verdict with its calls in 30 days. A tooltip gives the reason; a click opens the panel. */
export function MatrixCellButton({ row, cell, role, position, focusable, onOpen }: MatrixCellButtonProps) {
  const { calls, denied, cases, from } = cell;
  /** The owner's code decides each call: the cases show how. */
  const judged = row.conditional || row.approval?.conditional === true;
  const { icon, className } = VERDICT_LOOKS[cell.verdict];
  return (
    <Tooltip content={whyOf(row, cell, role)}>
      <button
        type="button"
        data-position={position}
        tabIndex={focusable ? 0 : -1}
        onClick={onOpen}
        className={classNames(
          "hover:ring-edge relative flex min-h-7 w-full min-w-max items-center gap-1.5 rounded-md px-2 py-1 text-left text-xs font-medium whitespace-nowrap hover:ring-1",
          className,
        )}
      >
        <span className="sr-only">
          {row.name}, {roleLabel(role)},{" "}
        </span>
        <Icon name={icon} className="size-3.5" />
        <span className={cell.verdict === "approval" ? "max-w-40 whitespace-normal" : undefined}>
          {verdictText(row, cell)}
        </span>
        {from.length > 0 && <span className="max-w-40 truncate font-normal">via {from.join(", ")}</span>}
        {cell.verdict !== "denied" && judged && cases.length > 0 && (
          <span className="font-normal">
            <span className="sr-only">, </span>
            {cases.filter((decided) => decided.verdict === "allowed").length}/{cases.length} cases
            <span className="sr-only"> allowed</span>
          </span>
        )}
        <span className="ml-auto flex items-center gap-1.5 font-normal">
          {calls > 0 && <Figure count={calls} word="call" />}
          {denied > 0 && (
            <span className="text-warn inline-flex items-center gap-0.5">
              <Icon name="denied" className="size-3" />
              <Figure count={denied} word="denied call" />
            </span>
          )}
        </span>
      </button>
    </Tooltip>
  );
}

/** Shows only the number, for lack of room; screen readers also get the unit. */
const Figure = ({ count, word }: { count: number; word: string }) => (
  <span>
    <span className="sr-only">, </span>
    {formatCompact(count)}
    <span className="sr-only"> {count === 1 ? word : `${word}s`}</span>
  </span>
);
