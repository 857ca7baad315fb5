import { ServiceError } from "../ports/service-error.ts";
import type { Buckets } from "../ports/console-insight.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const MOST_DAYS = 400;
const MOST_BUCKETS = 90;

/** Each is at most 3.5 times the one before, so that there are never fewer than a third of the most buckets but for minutes. */
const WIDTHS_MS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 7].map((days) => days * DAY_MS),
];
/** A Monday at midnight in UTC: all buckets begin a whole number of their widths after it. */
const MONDAY = Date.UTC(1970, 0, 5);

export interface TimeRange {
  from: number;
  to: number;
}

/** The stretch of time that is asked for; the 24 hours before its end without a beginning, up to `now` without an end. */
export function rangeOf(query: { from?: string | undefined; to?: string | undefined }, now: number): TimeRange {
  const to = query.to === undefined ? now : Date.parse(query.to);
  const from = query.from === undefined ? to - DAY_MS : Date.parse(query.from);
  if (from >= to) throw refused("must be before the end of the range");
  if (to - from > MOST_DAYS * DAY_MS) throw refused(`must be at most ${MOST_DAYS} days before the end of the range`);
  return { from, to };
}

function refused(message: string): ServiceError {
  return new ServiceError("invalid_request", `from ${message}`, { details: [{ path: "from", message }] });
}

/** As many steps as are at most 90, each of a width that people count in. */
export function bucketsOf({ from, to }: TimeRange): Buckets {
  for (const widthMs of WIDTHS_MS) {
    const firstAt = MONDAY + Math.floor((from - MONDAY) / widthMs) * widthMs;
    const count = Math.ceil((to - firstAt) / widthMs);
    if (count <= MOST_BUCKETS) return { firstAt, widthMs, count };
  }
  throw new RangeError(`${to - from} ms are more than ${MOST_BUCKETS} weeks`);
}
