import { csvCell } from "@patchbay/kit";
import { useSignal, zone } from "../state/signals.ts";
import { CopyButton } from "../ui/copy.tsx";
import type { Series } from "./series.tsx";
import { stepLabel, type TimeSteps } from "./time-steps.ts";
import { formatValue, type Unit } from "./units.ts";

interface ChartTableProps {
  title: string;
  steps: TimeSteps;
  series: readonly Series[];
  unit: Unit;
}

/** A chart's values as a table, newest first. */
export function ChartTable({ title, steps, series, unit }: ChartTableProps) {
  const shownZone = useSignal(zone);
  const newestFirst = steps.at.map((_, i) => i).toReversed();
  return (
    <>
      <div
        role="region"
        aria-label={`${title} as a table`}
        tabIndex={0}
        className="border-line max-h-52 overflow-auto rounded-md border"
      >
        <table className="w-full text-xs">
          <caption className="sr-only">{title}</caption>
          <thead>
            <tr>
              <Head>Time</Head>
              {series.map(({ key, label }) => (
                <Head key={key} end>
                  {label}
                </Head>
              ))}
            </tr>
          </thead>
          <tbody>
            {newestFirst.map((i) => (
              <tr key={steps.at[i]} className="border-line border-t first:border-t-0">
                <th scope="row" className="px-2.5 py-1 text-left font-normal whitespace-nowrap">
                  {stepLabel(steps, i, shownZone)}
                </th>
                {series.map(({ key, values }) => (
                  <td key={key} className="px-2.5 py-1 text-right whitespace-nowrap">
                    {formatValue(values[i] ?? null, unit)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className="mt-2 flex justify-end">
        <CopyButton text={() => csvOf(steps, series)} look="ghost">
          Copy as CSV
        </CopyButton>
      </div>
    </>
  );
}

const Head = ({ end = false, children }: { end?: boolean; children: string }) => (
  <th
    scope="col"
    className={`bg-sunken text-muted sticky top-0 px-2.5 py-1.5 font-medium whitespace-nowrap ${end ? "text-right" : "text-left"}`}
  >
    {children}
  </th>
);

/** The series as CSV: oldest first, exact values, times in ISO 8601. */
export function csvOf(steps: TimeSteps, series: readonly Series[]): string {
  const head = ["from", ...series.map(({ label }) => csvCell(label))];
  const rows = steps.at.map((at, i) => [at, ...series.map(({ values }) => String(values[i] ?? ""))]);
  return [head, ...rows].map((row) => row.join(",")).join("\n");
}
