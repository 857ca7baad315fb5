import { classNames } from "../ui/class-names.ts";
import type { Series } from "./series.ts";
import { Swatch } from "./swatch.tsx";

/** Names of the series; each takes its own out of the chart and back. */
export function Legend({
  series,
  kind,
  hidden,
  onToggle,
}: {
  series: readonly Series[];
  kind: "bars" | "lines";
  hidden: ReadonlySet<string>;
  onToggle: (key: string) => void;
}) {
  return (
    <div role="group" aria-label="Series in view" className="-mx-1.5 flex flex-wrap gap-x-1 gap-y-0.5">
      {series.map(({ key, label, look, note }) => {
        const shown = !hidden.has(key);
        return (
          <button
            key={key}
            type="button"
            aria-pressed={shown}
            onClick={() => onToggle(key)}
            className="hover:bg-hover inline-flex min-h-6 max-w-full items-center gap-1.5 rounded px-1.5 text-xs"
          >
            <span className={classNames("flex", !shown && "opacity-30")}>
              <Swatch look={look} kind={kind} />
            </span>
            <span className={classNames("text-muted min-w-0 truncate", !shown && "line-through")}>{label}</span>
            {note !== undefined && <span className="font-medium whitespace-nowrap">{note}</span>}
          </button>
        );
      })}
    </div>
  );
}
