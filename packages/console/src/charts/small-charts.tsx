import { useId } from "react";
import { type Color, cssColor, fillOf, type Look, LookPattern, segmentsOf } from "./series.tsx";

/** A horizontal bar of several parts, relative to the longest bar of its column. Decorative: the figures are next to it. */
export function ShareBar({ parts, max }: { parts: readonly { value: number; look: Look }[]; max: number }) {
  const id = useId();
  let before = 0;
  return (
    <svg aria-hidden="true" width="100%" height="6" className="bg-sunken block rounded-sm" shapeRendering="crispEdges">
      {parts.map(({ value, look }, i) => {
        const start = before;
        before += value;
        if (value <= 0) return null;
        return (
          <g key={i}>
            <LookPattern id={`${id}${i}`} look={look} />
            <rect x={share(start, max)} width={share(value, max)} height="6" fill={fillOf(`${id}${i}`, look)} />
          </g>
        );
      })}
    </svg>
  );
}

const share = (value: number, max: number): string => `${((value / Math.max(max, 1e-9)) * 100).toFixed(2)}%`;

const WIDTH = 100;
const HEIGHT = 24;

/** The shape of a series, interrupted where a value is missing. Decorative: the figures are next to it. */
export function Sparkline({ values, color }: { values: readonly (number | null)[]; color: Color }) {
  const top = Math.max(...values.map((value) => value ?? 0), 0);
  if (top === 0) return <div className="border-line h-6 border-b" />;
  return (
    <svg
      aria-hidden="true"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="block h-6 w-full overflow-visible"
    >
      {sparklinePaths(values, top).map(({ line, area }) => (
        <g key={line}>
          <path d={area} fill={cssColor(color)} opacity="0.12" />
          <path d={line} fill="none" stroke={cssColor(color)} strokeWidth="1.5" vectorEffect="non-scaling-stroke" />
        </g>
      ))}
    </svg>
  );
}

/** The paths of each stretch of values. One value is a short dash, because a path of one point draws nothing. */
export const sparklinePaths = (values: readonly (number | null)[], top: number): { line: string; area: string }[] =>
  segmentsOf(values).map(({ from, to }) => {
    const points = values
      .slice(from, to + 1)
      .map((value, i) => `${xOf(from + i, values.length).toFixed(2)},${yOf(value ?? 0, top).toFixed(2)}`);
    const [start, end] = [xOf(from, values.length), xOf(to, values.length) + (from === to ? DASH : 0)];
    const line = `M${points.join("L")}${from === to ? `h${DASH}` : ""}`;
    return { line, area: `${line}L${end.toFixed(2)},${HEIGHT}L${start.toFixed(2)},${HEIGHT}Z` };
  });

const DASH = 1.5;

const xOf = (i: number, count: number): number => (count === 1 ? WIDTH / 2 : (i / (count - 1)) * WIDTH);
const yOf = (value: number, top: number): number => HEIGHT - 1 - (value / top) * (HEIGHT - 3);
