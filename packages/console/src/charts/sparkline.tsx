import { cssColor, type Color } from "./series.ts";

const WIDTH = 100;
const HEIGHT = 24;

/** The shape of a series, without figures: those stand beside it. What is not known is passed over. */
export function Sparkline({ values, color }: { values: readonly (number | null)[]; color: Color }) {
  const top = Math.max(...values.map((value) => value ?? 0), 0);
  if (top === 0) return <div className="border-line h-6 border-b" />;
  const known = values.flatMap((value, i) => (value === null ? [] : [{ value, x: xOf(i, values.length) }]));
  // A single value is a short dash: a path of one point would not be drawn.
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
