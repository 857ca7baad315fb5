import { useState, type ReactNode } from "react";
import { IconButton } from "../ui/button.tsx";
import { Card } from "../ui/card.tsx";
import { Loading, Skeleton } from "../ui/states.tsx";
import { Legend } from "./legend.tsx";
import { TableTwin } from "./table-twin.tsx";
import { TimeChart, type TimeChartProps } from "./time-chart.tsx";

interface ChartCardProps extends TimeChartProps {
  description?: ReactNode;
}

/** A chart with its name, a legend that takes series out, and the same as a table. */
export function ChartCard({ description, ...chart }: ChartCardProps) {
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
        <TableTwin title={title} steps={steps} series={series} unit={unit} />
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

/** Stands for a chart that is being fetched. */
export function ChartSkeleton({ title }: { title: string }) {
  return (
    <Card title={title}>
      <Loading label={`Loading ${title.toLowerCase()}`}>
        <Skeleton className="mb-3 h-5 w-56 max-w-full" />
        <Skeleton className="h-52 w-full" />
      </Loading>
    </Card>
  );
}
