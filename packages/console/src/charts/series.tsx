import { useId } from "react";

/** How a series is drawn. Series differ in more than their colour. */
export interface Look {
  color: Color;
  /** Drawn over the bar colour. */
  pattern?: "hatch" | "dots";
  /** Line stroke pattern. */
  dash?: string;
  /** A wide, pale line, which stays visible below a line with the same values. */
  wide?: boolean;
}

export type Color =
  | "series-1"
  | "series-2"
  | "series-3"
  | "series-4"
  | "series-5"
  | "series-6"
  | "mark-ok"
  | "mark-bad"
  | "mark-warn"
  | "mark-idle"
  | "mark-info";

export interface Series {
  key: string;
  label: string;
  look: Look;
  /** One value per step; null for no data. */
  values: readonly (number | null)[];
  /** Shown after the name in the legend, for example the sum. */
  note?: string;
}

/** A line's stroke. */
export const strokeOf = ({ color, dash, wide = false }: Look) => ({
  stroke: cssColor(color),
  ...(dash !== undefined && { strokeDasharray: dash }),
  ...(wide ? { strokeWidth: 6, strokeOpacity: 0.45 } : { strokeWidth: 1.75 }),
});

/** Wide lines are drawn first, below the others. */
export const wideFirst = (series: readonly Series[]): Series[] =>
  series.toSorted((a, b) => Number(b.look.wide ?? false) - Number(a.look.wide ?? false));

export const cssColor = (color: Color): string => `var(--${color})`;

/** The total for each step. */
export function stackTotals(series: readonly Series[]): number[] {
  const steps = Math.max(0, ...series.map(({ values }) => values.length));
  return Array.from({ length: steps }, (_, i) => series.reduce((sum, { values }) => sum + (values[i] ?? 0), 0));
}

/** A chart's largest value: the largest stack for bars, the largest series value for lines. */
export function topOf(series: readonly Series[], kind: "bars" | "lines"): number {
  const values = kind === "bars" ? stackTotals(series) : series.flatMap(({ values }) => values.map((v) => v ?? 0));
  return values.reduce((top, value) => Math.max(top, value), 0);
}

/** A bar or line sample, shown next to the series name. */
export function Swatch({ look, kind }: { look: Look; kind: "bars" | "lines" }) {
  const id = useId();
  return (
    <svg aria-hidden="true" width={kind === "bars" ? 10 : 16} height="10" className="shrink-0">
      {kind === "lines" ? (
        <line x1="0" x2="16" y1="5" y2="5" {...strokeOf(look)} />
      ) : (
        <>
          <LookPattern id={id} look={look} />
          <rect width="10" height="10" rx="2" fill={fillOf(id, look)} />
        </>
      )}
    </svg>
  );
}

/** Bar fill: the colour, or the pattern that `LookPattern` defines under the same id. */
export const fillOf = (id: string, { color, pattern }: Look): string => (pattern ? `url(#${id})` : cssColor(color));

export function LookPattern({ id, look: { color, pattern } }: { id: string; look: Look }) {
  if (pattern === undefined) return null;
  return (
    <defs>
      <pattern
        id={id}
        width="5"
        height="5"
        patternUnits="userSpaceOnUse"
        {...(pattern === "hatch" && { patternTransform: "rotate(45)" })}
      >
        <rect width="5" height="5" fill={cssColor(color)} />
        {pattern === "hatch" ? (
          <rect width="1.6" height="5" fill="var(--surface)" opacity="0.7" />
        ) : (
          <circle cx="2.5" cy="2.5" r="1.1" fill="var(--surface)" opacity="0.8" />
        )}
      </pattern>
    </defs>
  );
}
