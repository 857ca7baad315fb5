import { useEffect } from "react";
import { formatCompact, formatCount, formatUsd } from "../format/numbers.ts";
import { formatDuration, formatInstant, formatRelative } from "../format/times.ts";
import { createSignal, useSignal } from "../state/signal.ts";
import { zone } from "../state/zone.ts";
import { Tooltip } from "./tooltip.tsx";

const now = createSignal(Date.now());
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for all times on the page; it stands still while none is shown. */
function useNow(): number {
  useEffect(() => {
    watchers += 1;
    timer ??= setInterval(() => now.set(Date.now()), 10_000);
    return () => {
      watchers -= 1;
      if (watchers > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return useSignal(now);
}

/** How long ago, with the exact time on hover and focus. `exact` shows that at once. */
export function Time({ at, exact = false }: { at: string | null; exact?: boolean }) {
  const current = useNow();
  const shownZone = useSignal(zone);
  if (at === null) return <span className="text-faint">never</span>;
  const instant = formatInstant(at, shownZone);
  if (exact) return <time dateTime={at}>{instant}</time>;
  return (
    <Tooltip content={instant}>
      <time dateTime={at} className="whitespace-nowrap">
        {formatRelative(at, Math.max(current, Date.now()), shownZone)}
      </time>
    </Tooltip>
  );
}

const none = <span className="text-faint">–</span>;

export function Duration({ ms }: { ms: number | null }) {
  return ms === null ? none : <span className="whitespace-nowrap">{formatDuration(ms)}</span>;
}

export function Money({ usd }: { usd: number | null }) {
  return usd === null ? none : <span className="whitespace-nowrap">{formatUsd(usd)}</span>;
}

/** A count; `short` shows 12.3K with the whole number on hover. */
export function Count({ value, short = false }: { value: number | null; short?: boolean }) {
  if (value === null) return none;
  return short ? <span title={formatCount(value)}>{formatCompact(value)}</span> : <span>{formatCount(value)}</span>;
}
