import type { ReactNode } from "react";
import { formatShare } from "../format/numbers.ts";
import { classNames } from "./class-names.ts";
import { Skeleton } from "./page.tsx";

interface StatTileProps {
  label: ReactNode;
  value: ReactNode;
  /** Small text below the figure. */
  note?: ReactNode;
  /** The trend: a sparkline. */
  children?: ReactNode;
}

/** A figure with its label, its change and its trend. */
export const StatTile = ({ label, value, note, children }: StatTileProps) => (
  <div className="border-line bg-surface shadow-card relative flex min-w-0 flex-col rounded-lg border px-4 py-3 max-sm:last:odd:col-span-full">
    <dt className="text-muted truncate text-xs font-medium">{label}</dt>
    <dd className="mt-1 min-w-0">
      <span className="block truncate text-xl font-semibold tracking-tight">{value}</span>
      <span className="text-faint block min-h-4 text-xs">{note}</span>
    </dd>
    {children !== undefined && <dd className="mt-auto pt-2">{children}</dd>}
  </div>
);

/** A tile grid with as many columns as fit; eight tiles have full rows. */
export function StatTiles({ children }: { children: ReactNode }) {
  return (
    <dl className="grid grid-cols-[repeat(auto-fit,minmax(8.25rem,1fr))] gap-3 sm:max-[90rem]:has-[>:nth-child(8)]:grid-cols-4">
      {children}
    </dl>
  );
}

/** Placeholder tiles; `trend: false` for tiles without a sparkline. */
export const StatTilesSkeleton = ({ labels, trend = true }: { labels: readonly string[]; trend?: boolean }) => (
  <StatTiles>
    {labels.map((label) => (
      <StatTile key={label} label={label} value={<Skeleton className="my-1 h-5 w-20" />}>
        {trend ? <Skeleton className="h-6 w-full" /> : undefined}
      </StatTile>
    ))}
  </StatTiles>
);

interface ChangeProps {
  now: number | null;
  before: number | null | undefined;
  /** Which direction is an improvement; undefined for neither. */
  better?: "more" | "less";
}

/** The change from the previous range to this one. Renders nothing if `before` is undefined. */
export function Change({ now, before, better }: ChangeProps) {
  if (before === undefined) return null;
  if (now === null || before === null) return <>No earlier data</>;
  if (now === before) return <>No change</>;
  if (before === 0) return <>No earlier data</>;
  const by = now / before - 1;
  if (Math.abs(by) < 0.0005) return <>No change</>;
  const more = by > 0;
  const good = better === undefined ? undefined : more === (better === "more");
  const size = now / before >= 10 ? `${Math.round(now / before)}×` : formatShare(Math.abs(by), 1);
  return (
    <>
      <span className={classNames(good === true && "text-ok", good === false && "text-bad")}>
        <span aria-hidden="true">{more ? "↑" : "↓"} </span>
        {size}
        <span className="sr-only"> {more ? "more" : "less"}</span>
      </span>{" "}
      vs. previous period
    </>
  );
}
