import { useId } from "react";
import type { Plot } from "./axes.tsx";
import { cssColor, fillOf, LookPattern, segmentsOf, type Series, strokeOf } from "./series.tsx";

const MAX_BAR_WIDTH = 40;

/** One bar per step with the series stacked, the first at the bottom. */
export function StackedBars({ plot, series }: { plot: Plot; series: readonly Series[] }) {
  const id = useId();
  const gap = plot.band >= 8 ? 2 : plot.band >= 3 ? 1 : 0;
  const width = Math.min(MAX_BAR_WIDTH, Math.max(1, Math.round(plot.band - gap)));
  const steps = series[0]?.values.length ?? 0;
  return (
    <g shapeRendering="crispEdges">
      {series.map(({ key, look }) => (
        <LookPattern key={key} id={`${id}${key}`} look={look} />
      ))}
      {Array.from({ length: steps }, (_, i) => {
        let below = 0;
        return series.map(({ key, look, values }) => {
          const value = values[i] ?? 0;
          if (value <= 0) return null;
          const bottom = Math.round(plot.y(below));
          below += value;
          // At least a pixel: one query among thousands must be visible.
          const height = Math.max(1, bottom - Math.round(plot.y(below)));
          return (
            <rect
              key={`${key}${i}`}
              x={Math.round(plot.x(i) - width / 2)}
              y={bottom - height}
              width={width}
              height={height}
              fill={fillOf(`${id}${key}`, look)}
            />
          );
        });
      })}
    </g>
  );
}

interface LinesProps {
  plot: Plot;
  series: readonly Series[];
  band?: readonly [low: string, high: string] | undefined;
  filled?: boolean | undefined;
}

/** A line per series, or a dot for a step without neighbours. `band` fills the area between two lines, `filled` the area below each. */
export function Lines({ plot, series, band, filled = false }: LinesProps) {
  const low = series.find(({ key }) => key === band?.[0]);
  const high = series.find(({ key }) => key === band?.[1]);
  return (
    <g fill="none" strokeLinejoin="round" strokeLinecap="round">
      {low && high && <Band plot={plot} low={low} high={high} />}
      {filled && series.map((one) => <Band key={one.key} plot={plot} low={floorOf(one)} high={one} />)}
      {wideFirst(series).map(({ key, look, values }) => (
        <g key={key} {...strokeOf(look)}>
          {segmentsOf(values).map(({ from, to }) =>
            from === to ? (
              <circle
                key={from}
                cx={plot.x(from)}
                cy={plot.y(values[from] ?? 0)}
                r={look.wide ? 4.5 : 2.25}
                fill={cssColor(look.color)}
                fillOpacity={look.wide ? 0.45 : 1}
                stroke="none"
              />
            ) : (
              <path key={from} d={pathOf(plot, values, from, to)} />
            ),
          )}
        </g>
      ))}
    </g>
  );
}

/** Wide lines are drawn first, below the others. */
export const wideFirst = (series: readonly Series[]): Series[] =>
  series.toSorted((a, b) => Number(b.look.wide ?? false) - Number(a.look.wide ?? false));

const floorOf = (series: Series): Series => ({ ...series, values: series.values.map(() => 0) });

function Band({ plot, low, high }: { plot: Plot; low: Series; high: Series }) {
  const known = low.values.map((value, i) => (value === null || high.values[i] == null ? null : value));
  return segmentsOf(known).map(({ from, to }) => (
    <path
      key={from}
      d={`${pathOf(plot, high.values, from, to)}L${pathOf(plot, low.values, from, to, -1).slice(1)}Z`}
      fill={cssColor(low.look.color)}
      opacity="0.13"
    />
  ));
}

function pathOf(plot: Plot, values: readonly (number | null)[], from: number, to: number, direction: 1 | -1 = 1) {
  const points = values
    .slice(from, to + 1)
    .map((value, i) => `${plot.x(from + i).toFixed(1)},${plot.y(value ?? 0).toFixed(1)}`);
  return `M${(direction === 1 ? points : points.reverse()).join("L")}`;
}
