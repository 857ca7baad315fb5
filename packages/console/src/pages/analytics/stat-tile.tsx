import type { ReactNode } from "react";
import { formatShare } from "../../format/numbers.ts";
import { classNames } from "../../ui/class-names.ts";
import { Skeleton } from "../../ui/states.tsx";

/** A figure with its name, how it changed, and its course. */
export function StatTile({
  label,
  value,
  note,
  children,
}: {
  label: string;
  value: ReactNode;
  /** Below the figure, in small letters. */
  note?: ReactNode;
  /** Its course. */
  children?: ReactNode;
}) {
  return (
    <div className="border-line bg-surface shadow-card flex min-w-0 flex-col rounded-lg border px-4 py-3 max-sm:last:odd:col-span-full">
      <dt className="text-muted truncate text-xs font-medium">{label}</dt>
      <dd className="mt-1 min-w-0">
        <span className="block truncate text-xl font-semibold tracking-tight">{value}</span>
        <span className="text-faint block min-h-4 text-xs">{note}</span>
      </dd>
      {children !== undefined && <dd className="mt-auto pt-2">{children}</dd>}
    </div>
  );
}

/** Tiles beside each other, as many as there is room for. */
export function StatTiles({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-[repeat(auto-fit,minmax(8.25rem,1fr))] gap-3">{children}</dl>;
}

export function StatTilesSkeleton({ labels, course = true }: { labels: readonly string[]; course?: boolean }) {
  return (
    <StatTiles>
      {labels.map((label) => (
        <StatTile key={label} label={label} value={<Skeleton className="my-1 h-5 w-20" />}>
          {course ? <Skeleton className="h-6 w-full" /> : undefined}
        </StatTile>
      ))}
    </StatTiles>
  );
}

/** How a figure compares with that of the range before; nothing where there is nothing to compare with. */
export function Change({
  now,
  before,
  better,
}: {
  now: number | null;
  before: number | null | undefined;
  /** Which way is good; undefined where neither is. */
  better?: "more" | "less";
}) {
  if (before === undefined) return null;
  if (now === null || before === null) return <>no earlier figure</>;
  if (now === before) return <>as before</>;
  if (before === 0) return <>none before</>;
  const by = now / before - 1;
  if (Math.abs(by) < 0.0005) return <>as before</>;
  const more = by > 0;
  const good = better === undefined ? undefined : more === (better === "more");
  const size = now / before >= 10 ? `${Math.round(now / before)} times` : formatShare(Math.abs(by), 1);
  return (
    <>
      <span className={classNames(good === true && "text-ok", good === false && "text-bad")}>
        <span aria-hidden="true">{more ? "↑" : "↓"} </span>
        {size}
        <span className="sr-only"> {more ? "more" : "less"}</span>
      </span>{" "}
      vs. before
    </>
  );
}
