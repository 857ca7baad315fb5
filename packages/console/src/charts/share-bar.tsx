import { useId } from "react";
import { fillOf, type Look, LookPattern } from "./series.tsx";

/**
 * A horizontal bar with several parts, relative to the longest bar in its column. Decorative: the figures are next to
 * it.
 */
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
