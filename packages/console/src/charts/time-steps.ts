import { formatBucket, formatDate } from "../format/times.ts";

export type Zone = "local" | "utc";

/** The steps along a time axis: all of one width, none left out. */
export interface TimeSteps {
  /** When each begins. */
  at: readonly string[];
  widthMs: number;
  /** Where the time that is shown ends: in the last step, or at its end. */
  to: string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A Monday: weeks begin there. */
const MONDAY = Date.UTC(1970, 0, 5);

const TICK_STEPS_MS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 7, 14, 28, 56, 112].map((days) => days * DAY_MS),
];

export interface TimeTick {
  index: number;
  label: string;
  /** A day begins, on an axis of hours. */
  strong: boolean;
}

/** Steps of days begin at midnight in UTC, and so are told in UTC. */
export const zoneOf = ({ widthMs }: TimeSteps, zone: Zone): Zone => (widthMs >= DAY_MS ? "utc" : zone);

/** The steps that get a label: those where a round time begins, at most `most`. */
export function timeTicks(steps: TimeSteps, most: number, shownZone: Zone): TimeTick[] {
  const zone = zoneOf(steps, shownZone);
  const clock = steps.at.map((at) => onClock(at, zone));
  for (const stepMs of TICK_STEPS_MS) {
    if (stepMs < steps.widthMs) continue;
    const firsts = clock.flatMap((ms, index) => (begins(ms, steps.widthMs, stepMs) ? [index] : []));
    if (firsts.length > most) continue;
    return firsts.map((index) => {
      const day = begins(clock[index]!, steps.widthMs, DAY_MS);
      const label = formatBucket(steps.at[index]!, stepMs >= DAY_MS || day ? DAY_MS : MINUTE_MS, zone);
      return { index, label, strong: day && stepMs < DAY_MS };
    });
  }
  return [];
}

/** True where a multiple of `stepMs` is the first in its step. */
const begins = (ms: number, widthMs: number, stepMs: number): boolean =>
  Math.floor((ms - MONDAY) / stepMs) !== Math.floor((ms - widthMs - MONDAY) / stepMs);

/** An instant as though the clock's time were UTC. */
function onClock(iso: string, zone: Zone): number {
  const date = new Date(iso);
  return date.getTime() - (zone === "utc" ? 0 : date.getTimezoneOffset() * MINUTE_MS);
}

/** "21 Nov 2026", "14 Nov 2026 – 20 Nov 2026", "21 Nov, 14:00 – 14:30"; "so far" where it is not over. */
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

/** From and to of a step, the last one's whole width included. */
export function stepRange({ at, widthMs }: TimeSteps, index: number): { at: string; end: string } {
  const begin = at[index]!;
  return { at: begin, end: new Date(Date.parse(begin) + widthMs).toISOString() };
}
