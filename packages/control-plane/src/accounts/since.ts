import { AdminError } from "./admin-error.ts";

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of a moment given as a time (`2026-11-20`, `2026-11-20T09:30:00Z`) or as how long ago it was (`90m`, `24h`, `7d`). */
export function parseSince(text: string, now: number): number {
  const ago = /^(\d{1,6})([mhd])$/.exec(text.trim());
  const time = ago ? now - Number(ago[1]) * UNITS_MS[ago[2] as keyof typeof UNITS_MS] : Date.parse(text);
  if (!Number.isNaN(time)) return time;
  throw new AdminError(`"${text}" is no time: give one as 2026-11-20T09:30:00Z, or how long ago as 90m, 24h or 7d.`);
}
