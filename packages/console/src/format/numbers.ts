const LOCALE = "en";

const whole = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat(LOCALE, { notation: "compact", maximumFractionDigits: 1 });
const percent = new Intl.NumberFormat(LOCALE, { style: "percent", maximumFractionDigits: 1 });

/** 12,345 */
export const formatCount = (value: number): string => whole.format(value);

/** 12.3K, for axes and tiles. Put the whole number in a title. */
export const formatCompact = (value: number): string => compact.format(value);

/** 12.5%; a dash when `of` is zero. */
export const formatShare = (part: number, of: number): string => (of === 0 ? "–" : percent.format(part / of));

/** $1.50, or $0.0042 for amounts below a cent. */
export function formatUsd(usd: number): string {
  const size = Math.abs(usd);
  const digits = size === 0 || size >= 1 ? 2 : size >= 0.01 ? 3 : 6;
  const text = new Intl.NumberFormat(LOCALE, {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  }).format(usd);
  return text.replace(/^-/u, "−");
}

/** With two digits for an amount below a cent, as much as a tile has room for. */
export function formatShortUsd(usd: number): string {
  const size = Math.abs(usd);
  return formatUsd(size > 0 && size < 0.01 ? Number(usd.toPrecision(2)) : usd);
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** "1 agent", "3 agents", "3 queries" with its own plural. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
