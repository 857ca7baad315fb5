import type { Plot } from "./plot.ts";
import { stackTotals, type Series } from "./series.ts";
import { Swatch } from "./swatch.tsx";
import { formatValue, type Unit } from "./units.ts";

export interface ReadoutProps {
  plot: Plot;
  index: number;
  /** Of the step. */
  label: string;
  series: readonly Series[];
  unit: Unit;
  kind: "bars" | "lines";
  /** What Enter or a click does. */
  hint?: string | undefined;
}

/** The values of one step, beside it. */
export function Readout({ plot, index, label, series, unit, kind, hint }: ReadoutProps) {
  const x = plot.x(index);
  const atLeft = x < plot.left + plot.width / 2;
  const side = atLeft ? { left: x + 12 } : { right: `calc(100% - ${x - 12}px)` };
  // Topmost first, as they stand in the chart.
  const rows = kind === "bars" ? series.toReversed() : series;
  return (
    <div
      aria-hidden="true"
      style={{ top: plot.top, ...side }}
      className="border-line bg-raised shadow-raised pointer-events-none absolute z-10 max-w-64 min-w-36 rounded-md border px-2.5 py-2 text-xs"
    >
      <p className="mb-1 font-medium whitespace-nowrap">{label}</p>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-2 gap-y-0.5">
        {rows.map(({ key, label, look, values }) => (
          <div key={key} className="contents">
            <Swatch look={look} kind={kind} />
            <dt className="text-muted truncate">{label}</dt>
            <dd className="text-right font-medium">{formatValue(values[index] ?? null, unit)}</dd>
          </div>
        ))}
        {kind === "bars" && series.length > 1 && (
          <div className="border-line col-span-3 mt-0.5 flex justify-between gap-3 border-t pt-1">
            <dt className="text-muted">Total</dt>
            <dd className="font-medium">{formatValue(stackTotals(series)[index] ?? 0, unit)}</dd>
          </div>
        )}
      </dl>
      {hint !== undefined && <p className="text-faint text-2xs mt-1.5 text-balance">{hint}</p>}
    </div>
  );
}

/** The same in one sentence. */
export function readoutText({ label, series, index, unit }: Omit<ReadoutProps, "plot" | "kind" | "hint">): string {
  return `${label}: ${series.map(({ label, values }) => `${label} ${formatValue(values[index] ?? null, unit)}`).join(", ")}`;
}
