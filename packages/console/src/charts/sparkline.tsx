import { Area, AreaChart } from "recharts";
import { type Color, cssColor } from "./series.tsx";

/** A series as a shape, interrupted at missing values. Decorative: the figures are next to it. */
export function Sparkline({ values, color }: { values: readonly (number | null)[]; color: Color }) {
  if (!values.some((value) => value !== null && value > 0)) return <div className="border-line h-6 border-b" />;
  return (
    <div aria-hidden="true">
      <AreaChart
        responsive
        accessibilityLayer={false}
        className="pointer-events-none h-6 w-full"
        data={values.map((value) => ({ value }))}
        margin={{ top: 2, right: 1, bottom: 1, left: 1 }}
      >
        <Area
          dataKey="value"
          type="linear"
          isAnimationActive={false}
          stroke={cssColor(color)}
          strokeWidth={1.5}
          // A value without neighbours is a one-point path, which only a round cap makes visible.
          strokeLinecap="round"
          fill={cssColor(color)}
          fillOpacity={0.12}
          tooltipType="none"
        />
      </AreaChart>
    </div>
  );
}
