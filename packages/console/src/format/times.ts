/** 8 ms, 1.24 s, 3 m 05 s, 2 h 10 m, 4 d 3 h. */
export function formatDuration(ms: number): string {
  if (ms < 1) return ms <= 0 ? "0 ms" : "<1 ms";
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_995) return `${(ms / 1_000).toFixed(2)} s`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${String(seconds % 60).padStart(2, "0")} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} m`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

const STEPS: [seconds: number, unit: string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
];

/** "now", "12 s ago", "in 3 d"; a date beyond 30 days. */
export function formatRelative(iso: string, now: number, zone: "local" | "utc"): string {
  const seconds = Math.round((Date.parse(iso) - now) / 1_000);
  const size = Math.abs(seconds);
  if (size < 5) return "now";
  if (size > 30 * 86_400) return formatDate(iso, zone);
  const [step, unit] = STEPS.find(([step]) => size >= step) ?? [1, "s"];
  const text = `${Math.floor(size / step)} ${unit}`;
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

const at = (zone: "local" | "utc", options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat("en-GB", { ...options, ...(zone === "utc" && { timeZone: "UTC" }) });

/** 21 Nov 2026 */
export function formatDate(iso: string, zone: "local" | "utc"): string {
  return at(zone, { day: "numeric", month: "short", year: "numeric" }).format(new Date(iso));
}

/** 10:17:52 */
export const formatTime = (ms: number, zone: "local" | "utc"): string =>
  at(zone, { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(ms);

/** 21 Nov 2026, 10:17:52.123 UTC */
export function formatInstant(iso: string, zone: "local" | "utc"): string {
  return at(zone, {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
    timeZoneName: "short",
  }).format(new Date(iso));
}

/** The label for a bucket of width `bucketMs`: a time of day, a day, or both. */
export function formatBucket(iso: string, bucketMs: number, zone: "local" | "utc"): string {
  if (bucketMs >= 86_400_000) return at(zone, { day: "numeric", month: "short" }).format(new Date(iso));
  const time: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit" };
  return at(zone, bucketMs >= 3_600_000 ? { day: "numeric", month: "short", ...time } : time).format(new Date(iso));
}
