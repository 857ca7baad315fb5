import { useId } from "react";
import { type Color, cssColor, fillOf, type Look, LookPattern } from "./series.tsx";

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

/** The shape of a series. Missing values are skipped. Decorative: the figures are next to it. */
export function Sparkline({ values, color }: { values: readonly (number | null)[]; color: Color }) {
  const top = Math.max(...values.map((value) => value ?? 0), 0);
  if (top === 0) return <div className="border-line h-6 border-b" />;
  const known = values.flatMap((value, i) => (value === null ? [] : [{ value, x: xOf(i, values.length) }]));
  // A path of one point draws nothing: extend a single value to a short dash.
  const points = known.length === 1 ? [known[0]!, { ...known[0]!, x: known[0]!.x + 1.5 }] : known;
  const line = `M${points.map(({ value, x }) => `${x.toFixed(2)},${yOf(value, top).toFixed(2)}`).join("L")}`;
  return (
    <svg
      aria-hidden="true"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="block h-6 w-full overflow-visible"
    >
      <path
        d={`${line}L${points.at(-1)!.x},${HEIGHT}L${points[0]!.x},${HEIGHT}Z`}
        fill={cssColor(color)}
        opacity="0.12"
      />
      <path d={line} fill="none" stroke={cssColor(color)} strokeWidth="1.5" vectorEffect="non-scaling-stroke" />
    </svg>
  );
}

const xOf = (i: number, count: number): number => (count === 1 ? WIDTH / 2 : (i / (count - 1)) * WIDTH);
const yOf = (value: number, top: number): number => HEIGHT - 1 - (value / top) * (HEIGHT - 3);
