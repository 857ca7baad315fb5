import { cssColor, runsOf, type Color } from "./series.ts";

const WIDTH = 100;
const HEIGHT = 24;

/** The shape of a series, without figures: those stand beside it. */
export function Sparkline({ values, color }: { values: readonly (number | null)[]; color: Color }) {
  const top = Math.max(...values.map((value) => value ?? 0), 0);
  if (top === 0) return <div className="border-line h-6 border-b" />;
  const x = (i: number): number => (values.length === 1 ? WIDTH / 2 : (i / (values.length - 1)) * WIDTH);
  const y = (value: number): number => HEIGHT - 1 - (value / top) * (HEIGHT - 3);
  return (
    <svg
      aria-hidden="true"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="block h-6 w-full overflow-visible"
    >
      {runsOf(values).map(({ from, to }) => {
        // A lone value is a short dash: a path of one point would not be drawn.
        const points = (from === to ? [from, from] : range(from, to)).map(
          (i, n) => `${(x(i) + (from === to ? n * 1.5 - 0.75 : 0)).toFixed(2)},${y(values[i] ?? 0).toFixed(2)}`,
        );
        const line = `M${points.join("L")}`;
        return (
          <g key={from}>
            <path d={`${line}L${x(to)},${HEIGHT}L${x(from)},${HEIGHT}Z`} fill={cssColor(color)} opacity="0.12" />
            <path d={line} fill="none" stroke={cssColor(color)} strokeWidth="1.5" vectorEffect="non-scaling-stroke" />
          </g>
        );
      })}
    </svg>
  );
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);
