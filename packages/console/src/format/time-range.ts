/** Relative ranges by their name in the URL. */
export const PRESETS = {
  "1h": { ms: 3_600_000, label: "Last hour" },
  "24h": { ms: 86_400_000, label: "Last 24 hours" },
  "7d": { ms: 7 * 86_400_000, label: "Last 7 days" },
  "30d": { ms: 30 * 86_400_000, label: "Last 30 days" },
  "90d": { ms: 90 * 86_400_000, label: "Last 90 days" },
} as const;
export type Preset = keyof typeof PRESETS;

/** Search parameters for a page with a time range: a preset, or `from` and `to`. */
export interface RangeSearch {
  range?: Preset | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/**
 * The range to request. A preset starts at a whole minute (ten minutes for ranges above a day), so that the query key, and with it
 * the cached response, stays the same when the page renders again.
 */
export function rangeOf(
  { range, from, to }: RangeSearch,
  { now = Date.now(), preset = "24h" }: { now?: number; preset?: Preset } = {},
): { from: string; to?: string | undefined } {
  if (range === undefined && from !== undefined)
    return { from: toIso(Date.parse(from)), to: to && toIso(Date.parse(to)) };
  const { ms } = PRESETS[range ?? preset];
  const stepMs = ms > 86_400_000 ? 600_000 : 60_000;
  return { from: toIso(Math.floor((now - ms) / stepMs) * stepMs) };
}

/** The length of a range that ends now; undefined for one with a chosen start. */
export const lastOf = ({ range, from }: RangeSearch, preset: Preset): Preset | undefined =>
  range === undefined && from !== undefined ? undefined : (range ?? preset);

/** The range before this one, with the same length. */
export function rangeBefore(
  search: RangeSearch,
  { now = Date.now(), preset = "24h" }: { now?: number; preset?: Preset } = {},
): { from: string; to: string } {
  const { from, to } = rangeOf(search, { now, preset });
  const begin = Date.parse(from);
  const custom = search.range === undefined && search.from !== undefined;
  // Round an open end to the minute too: the query key stays the same when the page renders again.
  const end = to === undefined ? Math.floor(now / 60_000) * 60_000 : Date.parse(to);
  const ms = custom ? end - begin : PRESETS[search.range ?? preset].ms;
  return { from: toIso(begin - ms), to: from };
}

const toIso = (ms: number): string => new Date(ms).toISOString();
