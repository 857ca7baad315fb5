import { AdminError } from "./admin-error.ts";

const MICROS = 1_000_000;
const AMOUNT = /^(\d{1,9})(?:\.(\d{1,6}))?$/;

/** Micro-USD of a decimal amount, exactly: "12.5" is 12,500,000. */
export function parseUsd(text: string): number {
  const match = AMOUNT.exec(text.trim());
  const micros = match ? Number(match[1]) * MICROS + Number((match[2] ?? "").padEnd(6, "0")) : 0;
  if (micros > 0) return micros;
  throw new AdminError(
    `"${text}" is no amount that can be granted: write US dollars above 0 with at most six decimals, for example 12.50.`,
  );
}

export function usdOf(micros: number): number {
  return micros / MICROS;
}
