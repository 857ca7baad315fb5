import { timeDay, timeTicks as localTicks, utcDay, utcTicks } from "d3-time";
import { formatBucket, formatDate } from "../format/times.ts";

export type Zone = "local" | "utc";

/** The steps on a time axis: equally wide, without gaps. */
export interface TimeSteps {
  /** When each step starts, as ISO 8601. */
  at: readonly string[];
  widthMs: number;
  /** The end of the shown range, within the last step or at its end. */
  to: string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface TimeTick {
  index: number;
  label: string;
  /** A day's first tick, on an hour axis. */
  strong: boolean;
}

/** Day steps start at midnight UTC, so they are shown in UTC. */
const zoneOf = ({ widthMs }: TimeSteps, zone: Zone): Zone => (widthMs >= DAY_MS ? "utc" : zone);

/** About `count` ticks, at the steps that contain a round time. */
export function timeTicks(steps: TimeSteps, count: number, shownZone: Zone): TimeTick[] {
  const zone = zoneOf(steps, shownZone);
  const begins = steps.at.map((at) => Date.parse(at));
  const end = (begins.at(-1) ?? 0) + steps.widthMs - 1;
  const ticks = zone === "utc" ? utcTicks : localTicks;
  const rounds = begins.length === 0 ? [] : ticks(new Date(begins[0]!), new Date(end), count);
  const isDay = (time: Date): boolean => (zone === "utc" ? utcDay : timeDay).floor(time).getTime() === time.getTime();
  const days = rounds.every(isDay);
  const byIndex = new Map(rounds.map((time) => [begins.findLastIndex((begin) => begin <= time.getTime()), time]));
  return [...byIndex].map(([index, time]) => ({
    index,
    label: formatBucket(steps.at[index]!, isDay(time) ? DAY_MS : MINUTE_MS, zone),
    strong: isDay(time) && !days,
  }));
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

/** A step's start and end. The last step may end after `steps.to`. */
export function stepRange({ at, widthMs }: TimeSteps, index: number): { at: string; end: string } {
  const begin = at[index]!;
  return { at: begin, end: new Date(Date.parse(begin) + widthMs).toISOString() };
}
