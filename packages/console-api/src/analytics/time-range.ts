import { isoTime } from "@patchbay/kit";
import { setImmediate } from "node:timers/promises";
import type { FigureSource } from "@patchbay/protocol/console";
import { type Expression, sql, type SqlBool } from "kysely";
import { ServiceError } from "@patchbay/engine/ports/service-error";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const MOST_DAYS = 400;
const MOST_BUCKETS = 90;

/** Each width is at most 3.5 times the previous one, so that ranges above one hour have at least 25 buckets. */
const WIDTHS_MS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 7].map((days) => days * DAY_MS),
];
/** A Monday at midnight UTC: the distance from each bucket to it is a multiple of the bucket width. */
const MONDAY = Date.UTC(1970, 0, 5);

/** Milliseconds on the database's clock. `from` is included, `to` is not. */
export interface TimeRange {
  from: number;
  to: number;
}

/** Which queries are counted. */
export interface FiguresOf extends TimeRange {
  orgId: string;
  /** Default: all the organisation's agents, including deleted ones. */
  agentId?: string;
  role?: string | undefined;
  /** Default: every source. */
  source?: FigureSource | undefined;
}

/** Rows for the organisation and its agents in the range. */
export function within({ orgId, agentId, role, from, to }: FiguresOf, time: "created_at" | "finished_at") {
  const agents =
    agentId === undefined
      ? sql<SqlBool>`agent_id in (select agents.id from agents where agents.org_id = ${orgId})`
      : sql<SqlBool>`agent_id = ${agentId}`;
  const ofRole = role === undefined ? sql`` : sql`and role = ${role}`;
  const at = sql.ref(time);
  return sql<SqlBool>`org_id = ${orgId} and ${agents} and ${at} >= ${from} and ${at} < ${to} ${ofRole}`;
}

/** Intervals with equal width that cover a range. */
export interface Buckets {
  /** Start of the first bucket, at or before the range's start. */
  firstAt: number;
  widthMs: number;
  count: number;
}

/** The range in a query string. Without `to` it ends now; without `from` it has 24 hours. */
export function rangeOf(query: { from?: string | undefined; to?: string | undefined }, now: number): TimeRange {
  const to = query.to === undefined ? now : Date.parse(query.to);
  const from = query.from === undefined ? to - DAY_MS : Date.parse(query.from);
  if (from >= to) throw invalidRange("must be before the end of the range");
  if (to - from > MOST_DAYS * DAY_MS)
    throw invalidRange(`must be at most ${MOST_DAYS} days before the end of the range`);
  return { from, to };
}

const invalidRange = (message: string): ServiceError =>
  new ServiceError("invalid_request", `from ${message}`, { details: [{ path: "from", message }] });

/** At most 90 buckets with the smallest suitable width. */
export function bucketsOf({ from, to }: TimeRange): Buckets {
  for (const widthMs of WIDTHS_MS) {
    const firstAt = MONDAY + Math.floor((from - MONDAY) / widthMs) * widthMs;
    const count = Math.ceil((to - firstAt) / widthMs);
    if (count <= MOST_BUCKETS) return { firstAt, widthMs, count };
  }
  throw new RangeError(`${to - from} ms exceed ${MOST_BUCKETS} weeks`);
}

/** SQL for the bucket of a time. */
export const bucketIn = ({ firstAt, widthMs }: Buckets, time: "created_at" | "finished_at" = "created_at") =>
  sql<number>`(${sql.ref(time)} - cast(${firstAt} as bigint)) / ${sql.lit(widthMs)}`;

/** The start time of the bucket with this index, in ISO 8601. */
export const bucketTime = ({ firstAt, widthMs }: Buckets, index: number): string => isoTime(firstAt + index * widthMs);

const SLICES = 8;

/**
 * Reads a long range in at most eight slices, newest first. The database sorts the rows that it groups: several short
 * statements cost less than a long one, and other reads run between them.
 */
export async function inSlices(
  { from, to }: TimeRange,
  step: { firstAt: number; widthMs: number },
  read: (slice: TimeRange) => Promise<void>,
): Promise<void> {
  const steps = Math.ceil((to - step.firstAt) / step.widthMs);
  const each = Math.ceil(steps / SLICES);
  for (let last = steps; last > 0; last -= each) {
    const at = (index: number) => step.firstAt + index * step.widthMs;
    await read({ from: Math.max(from, at(Math.max(0, last - each))), to: Math.min(to, at(last)) });
    await setImmediate();
  }
}

/** Width of a bin relative to the previous one. A bin's middle is within 4.5 % of every value in it. */
const GROWTH = 1.09;
const BELOW_ONE = -1;

/** Durations with similar length. */
export interface Bin {
  bin: number;
  count: number;
  /** The shortest and the longest duration, in milliseconds. */
  minMs: number;
  maxMs: number;
}

export type Histogram = Map<number, Bin>;

/** SQL for the bins of durations, in whole milliseconds. */
export const binned = (ms: Expression<number>) =>
  [
    sql<number>`case when ${ms} < 1 then ${sql.lit(BELOW_ONE)}
    else cast(floor(ln(cast(${ms} as double precision)) / ${sql.lit(Math.log(GROWTH))}) as integer) end`.as("bin"),
    sql<number>`count(*)`.as("count"),
    sql<number>`min(${ms})`.as("minMs"),
    sql<number>`max(${ms})`.as("maxMs"),
  ] as const;

export function addToBin(histogram: Histogram, { bin, count, minMs, maxMs }: Bin): void {
  const known = histogram.get(bin);
  histogram.set(bin, {
    bin,
    count: count + (known?.count ?? 0),
    minMs: Math.min(minMs, known?.minMs ?? minMs),
    maxMs: Math.max(maxMs, known?.maxMs ?? maxMs),
  });
}

/** The percentile for `share`: within 5 %, and never outside the durations in its bin. Null for an empty histogram. */
export function percentile(histogram: Histogram, share: number): number | null {
  const bins = [...histogram.values()].toSorted((a, b) => a.bin - b.bin);
  const rank = Math.ceil(share * bins.reduce((sum, { count }) => sum + count, 0));
  let passed = 0;
  for (const { bin, count, minMs, maxMs } of bins) {
    passed += count;
    if (passed >= rank) return Math.min(Math.max(middleOf(bin), minMs, 0), Math.max(maxMs, 0));
  }
  return null;
}

/** Sums with the percentiles of their durations. */
export const withPercentiles = <Sums extends { times: Histogram }>({ times, ...sums }: Sums) => ({
  ...sums,
  p50Ms: percentile(times, 0.5),
  p95Ms: percentile(times, 0.95),
});

/** The bin's middle to three digits. */
const middleOf = (bin: number): number => (bin === BELOW_ONE ? 0 : Number((GROWTH ** (bin + 0.5)).toPrecision(3)));

export function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const fresh = create();
  map.set(key, fresh);
  return fresh;
}
