import { Tooltip } from "@base-ui/react/tooltip";
import { formatCompact } from "../../format/numbers.ts";
import { classNames } from "../../ui/class-names.ts";
import { Icon, type IconName } from "../../ui/icon.tsx";
import type { MatrixCell, Verdict } from "./matrix-model.ts";

export const VERDICT_LOOKS: Record<Verdict, { icon: IconName; className: string; meaning: string }> = {
  allowed: {
    icon: "succeeded",
    className: "bg-ok-soft text-ok",
    meaning: "the role list names it, and the arguments' schema decides call by call",
  },
  conditional: {
    icon: "branch",
    className: "bg-info-soft text-info",
    meaning: "the role list names it, and the owner's authorize decides call by call",
  },
  denied: { icon: "denied", className: "text-faint", meaning: "to the role the function does not exist" },
};

/** One verdict, with its calls of 30 days. What it rests on shows on hover and focus, everything else when it is opened. */
export function MatrixCellButton({
  place,
  focusable,
  cell,
  label,
  tooltip,
  onOpen,
}: {
  place: string;
  focusable: boolean;
  cell: MatrixCell;
  label: string;
  tooltip: Tooltip.Handle<string>;
  onOpen: () => void;
}) {
  const { verdict, why, calls, denied } = cell;
  const { icon, className } = VERDICT_LOOKS[verdict];
  return (
    <Tooltip.Trigger
      handle={tooltip}
      payload={why}
      data-place={place}
      tabIndex={focusable ? 0 : -1}
      onClick={onOpen}
      className={classNames(
        "hover:ring-edge relative flex h-7 w-full min-w-max items-center gap-1.5 rounded-md px-2 text-xs font-medium whitespace-nowrap hover:ring-1",
        className,
      )}
    >
      <span className="sr-only">{label}, </span>
      <Icon name={icon} className="size-3.5" />
      {verdict}
      <span className="ml-auto flex items-center gap-1.5 font-normal">
        {calls > 0 && <Figure count={calls} word="call" />}
        {denied > 0 && (
          <span className="text-warn inline-flex items-center gap-0.5">
            <Icon name="denied" className="size-3" />
            <Figure count={denied} word="refusal" />
          </span>
        )}
      </span>
    </Tooltip.Trigger>
  );
}

/** The number alone to the eye, for there is little room. */
const Figure = ({ count, word }: { count: number; word: string }) => (
  <span>
    <span className="sr-only">, </span>
    {formatCompact(count)}
    <span className="sr-only"> {count === 1 ? word : `${word}s`}</span>
  </span>
);

/** One tooltip for all cells. */
export function CellTooltip({ handle }: { handle: Tooltip.Handle<string> }) {
  return (
    <Tooltip.Root handle={handle}>
      {({ payload }) => (
        <Tooltip.Portal>
          <Tooltip.Positioner sideOffset={6} className="z-50">
            <Tooltip.Popup className="rises border-line bg-raised text-text shadow-raised max-w-80 rounded-md border px-2.5 py-1.5 text-xs">
              {payload}
            </Tooltip.Popup>
          </Tooltip.Positioner>
        </Tooltip.Portal>
      )}
    </Tooltip.Root>
  );
}
