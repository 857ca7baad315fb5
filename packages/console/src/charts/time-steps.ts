import { formatBucket, formatDate } from "../format/times.ts";

export type Zone = "local" | "utc";

/** The steps of a time axis: equally wide, without gaps. */
export interface TimeSteps {
  /** When each step starts, as ISO 8601. */
  at: readonly string[];
  widthMs: number;
  /** The end of the shown range, within or at the end of the last step. */
  to: string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A Monday, so that ticks of weeks fall on Mondays. */
const MONDAY = Date.UTC(1970, 0, 5);

const TICK_STEPS_MS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 7, 14, 28, 56, 112].map((days) => days * DAY_MS),
];

export interface TimeTick {
  index: number;
  label: string;
  /** The first tick of a day, on an axis of hours. */
  strong: boolean;
}

/** Steps of days start at midnight UTC, so they are shown in UTC. */
export const zoneOf = ({ widthMs }: TimeSteps, zone: Zone): Zone => (widthMs >= DAY_MS ? "utc" : zone);

/** At most `maxTicks` ticks, at the steps that contain a round time. */
export function timeTicks(steps: TimeSteps, maxTicks: number, shownZone: Zone): TimeTick[] {
  const zone = zoneOf(steps, shownZone);
  const times = steps.at.map((at) => shiftToZone(at, zone));
  for (const stepMs of TICK_STEPS_MS) {
    if (stepMs < steps.widthMs) continue;
    const firsts = times.flatMap((ms, index) => (startsUnit(ms, steps.widthMs, stepMs) ? [index] : []));
    if (firsts.length > maxTicks) continue;
    return firsts.map((index) => {
      const day = startsUnit(times[index]!, steps.widthMs, DAY_MS);
      const label = formatBucket(steps.at[index]!, stepMs >= DAY_MS || day ? DAY_MS : MINUTE_MS, zone);
      return { index, label, strong: day && stepMs < DAY_MS };
    });
  }
  return [];
}

/** True if `ms`, the start of a step, is the first start at or after a multiple of `stepMs`. */
const startsUnit = (ms: number, widthMs: number, stepMs: number): boolean =>
  Math.floor((ms - MONDAY) / stepMs) !== Math.floor((ms - widthMs - MONDAY) / stepMs);

/** The epoch milliseconds of an instant, shifted so that UTC arithmetic gives local times. */
function shiftToZone(iso: string, zone: Zone): number {
  const date = new Date(iso);
  return date.getTime() - (zone === "utc" ? 0 : date.getTimezoneOffset() * MINUTE_MS);
}

/** "21 Nov 2026", "14 Nov 2026 – 20 Nov 2026", "21 Nov, 14:00 – 14:30"; "so far" if the step has not ended. */
export function stepLabel(steps: TimeSteps, index: number, shownZone: Zone): string {
  const { widthMs, to } = steps;
  const zone = zoneOf(steps, shownZone);
  const { at, end } = stepRange(steps, index);
  const soFar = Date.parse(at) + widthMs > Date.parse(to) ? ", so far" : "";
  if (widthMs >= DAY_MS) {
    const last = new Date(Date.parse(at) + widthMs - 1).toISOString();
    return `${formatDate(at, zone)}${widthMs > DAY_MS ? ` – ${formatDate(last, zone)}` : ""}${soFar}`;
  }
  return `${formatBucket(at, HOUR_MS, zone)} – ${formatBucket(end, MINUTE_MS, zone)}${soFar}`;
}

/** Start and end of a step. The end of the last step may be after `steps.to`. */
export function stepRange({ at, widthMs }: TimeSteps, index: number): { at: string; end: string } {
  const begin = at[index]!;
  return { at: begin, end: new Date(Date.parse(begin) + widthMs).toISOString() };
}
