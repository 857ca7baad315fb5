import { type ReactNode, useState } from "react";
import { IconButton } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { Card, Loading, Skeleton } from "../ui/page.tsx";
import { ChartTable } from "./chart-table.tsx";
import { type Series, Swatch } from "./series.tsx";
import { TimeChart, type TimeChartProps } from "./time-chart.tsx";

/** A chart with a title, a legend that hides and shows series, and a table with the same values. */
export function ChartCard({ description, ...chart }: TimeChartProps & { description?: ReactNode }) {
  const [asTable, setAsTable] = useState(false);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const { title, series, kind, steps, unit } = chart;
  const toggle = (key: string): void =>
    setHidden((before) => {
      const after = new Set(before);
      if (!after.delete(key)) after.add(key);
      return after;
    });
  return (
    <Card
      title={title}
      description={description}
      actions={
        <IconButton
          icon={asTable ? "chart" : "table"}
          label={asTable ? "Show as chart" : "Show as table"}
          size="small"
          onClick={() => setAsTable(!asTable)}
        />
      }
    >
      {asTable ? (
        <ChartTable title={title} steps={steps} series={series} unit={unit} />
      ) : (
        <>
          {series.length > 0 && (series.length > 1 || series[0]?.note !== undefined) && (
            <Legend series={series} kind={kind} hidden={hidden} onToggle={toggle} />
          )}
          <div className="mt-2">
            <TimeChart {...chart} series={series.filter(({ key }) => !hidden.has(key))} />
          </div>
        </>
      )}
    </Card>
  );
}

/** The placeholder for a loading chart. */
export const ChartSkeleton = ({ title }: { title: string }) => (
  <Card title={title}>
    <Loading label={`Loading ${title.toLowerCase()}`}>
      <Skeleton className="mb-3 h-5 w-56 max-w-full" />
      <Skeleton className="h-52 w-full" />
    </Loading>
  </Card>
);

interface LegendProps {
  series: readonly Series[];
  kind: "bars" | "lines";
  hidden: ReadonlySet<string>;
  onToggle: (key: string) => void;
}

/** The series names; each is a button that hides or shows its series. */
const Legend = ({ series, kind, hidden, onToggle }: LegendProps) => (
  <div role="group" aria-label="Visible series" className="-mx-1.5 flex flex-wrap gap-x-1 gap-y-0.5">
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
