import { useId } from "react";
import { cssColor, type Look } from "./series.ts";

/** The mark of a series beside its name: as its bars or its line look. */
export function Swatch({ look, kind }: { look: Look; kind: "bars" | "lines" }) {
  const id = useId();
  return (
    <svg aria-hidden="true" width={kind === "bars" ? 10 : 16} height="10" className="shrink-0">
      {kind === "lines" ? (
        <line x1="0" x2="16" y1="5" y2="5" stroke={cssColor(look.color)} strokeWidth="2" strokeDasharray={look.dash} />
      ) : (
        <>
          <LookPattern id={id} look={look} />
          <rect width="10" height="10" rx="2" fill={fillOf(id, look)} />
        </>
      )}
    </svg>
  );
}

/** What bars are filled with: their colour, or the pattern drawn by `LookPattern` under the same id. */
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
