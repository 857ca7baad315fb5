import { useEffect, useState } from "react";
import { formatDuration } from "../../format/times.ts";
import { classNames } from "../../ui/class-names.ts";

/** Three heartbeats of 5 seconds. */
const LATE_MS = 15_000;

/** How long ago a runtime was heard of, counted on between two looks. */
export function Heartbeat({ silentMs, fetchedAt }: { silentMs: number; fetchedAt: number }) {
  const [now, setNow] = useState(fetchedAt);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const age = silentMs + Math.max(0, now - fetchedAt);
  const late = age > LATE_MS;
  return (
    <span className={classNames("inline-flex items-center gap-1.5 whitespace-nowrap", late && "text-warn")}>
      <span
        aria-hidden="true"
        className={classNames("size-1.5 rounded-full", late ? "bg-mark-warn" : "bg-mark-ok animate-pulse-dot")}
      />
      {age < 1_000 ? "now" : `${formatDuration(Math.floor(age / 1_000) * 1_000).replace(".00", "")} ago`}
      {late && ", late"}
    </span>
  );
}

/** Calls that a runtime has, of those that it takes side by side. */
export function Load({ inFlight, concurrency }: { inFlight: number; concurrency: number | null }) {
  if (concurrency === null) return <span>{inFlight}</span>;
  const full = inFlight >= concurrency;
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap">
      <meter
        aria-label="Calls in flight"
        min={0}
        max={concurrency}
        value={Math.min(inFlight, concurrency)}
        className="sr-only"
      />
      <span aria-hidden="true" className="bg-line h-1.5 w-16 overflow-hidden rounded-full">
        <span
          className={classNames("block h-full rounded-full", full ? "bg-mark-warn" : "bg-mark-info")}
          style={{ width: `${Math.min(100, (100 * inFlight) / concurrency)}%` }}
        />
      </span>
      <span>
        {inFlight} <span className="text-muted">of {concurrency}</span>
        {full && <span className="text-warn">, full</span>}
      </span>
    </span>
  );
}
