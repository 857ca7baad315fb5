import { useEffect, useState } from "react";
import { formatCompact, formatCount, formatUsd } from "../format/numbers.ts";
import { formatDuration, formatInstant, formatRelative } from "../format/times.ts";
import { createSignal, useSignal } from "../state/signal.ts";
import { zone } from "../state/preferences.ts";
import { Tooltip } from "./tooltip.tsx";
import { useMedia } from "./measure.ts";

const now = createSignal(Date.now());
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** The current time, updated every 10 seconds. All times of a page share one timer, which stops when none is shown. */
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

/** A relative time with the exact time in its tooltip; `exact` shows the exact time. */
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

/** A count; `short` shows 12.3K with the whole number as title. */
export function Count({ value, short = false }: { value: number | null; short?: boolean }) {
  if (value === null) return none;
  return short ? <span title={formatCount(value)}>{formatCompact(value)}</span> : <span>{formatCount(value)}</span>;
}

/** Interval of updates with reduced motion. */
const REDUCED_MOTION_MS = 1_000;

/**
 * The duration of a run in milliseconds, updated on every frame while it runs. `knownMs` is the duration in the response that
 * arrived at `knownAt` on the page's clock. The value never decreases, although the two clocks may drift between responses.
 */
export function useRunClock({ running, knownMs, knownAt }: { running: boolean; knownMs: number; knownAt: number }) {
  const reducedMotion = useMedia("(prefers-reduced-motion: reduce)");
  const [nowMs, setNowMs] = useState(knownMs);
  useEffect(() => {
    if (!running) return undefined;
    const move = () => setNowMs((before) => Math.max(before, knownMs + Date.now() - knownAt));
    if (reducedMotion) {
      const timer = setInterval(move, REDUCED_MOTION_MS);
      return () => clearInterval(timer);
    }
    let frame = requestAnimationFrame(function draw() {
      move();
      frame = requestAnimationFrame(draw);
    });
    return () => cancelAnimationFrame(frame);
  }, [running, reducedMotion, knownMs, knownAt]);
  return running ? Math.max(nowMs, knownMs) : knownMs;
}
