import type { Series } from "./series.ts";
import type { TimeSteps } from "./time-steps.ts";

/** Oldest first, exact values, times in ISO 8601. */
export function csvOf(steps: TimeSteps, series: readonly Series[]): string {
  const quote = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const head = ["from", ...series.map(({ label }) => quote(label))];
  const rows = steps.at.map((at, i) => [at, ...series.map(({ values }) => String(values[i] ?? ""))]);
  return [head, ...rows].map((row) => row.join(",")).join("\n");
}
