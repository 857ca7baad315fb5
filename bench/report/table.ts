import type { FigureName } from "../figures.ts";
import { short, type Measured } from "./musts.ts";

const ROWS: readonly [string, FigureName][] = [
  ["CPU ms per query, 16 at a time", "at16CpuMs"],
  ["CPU ms per query, 1 at a time", "at1CpuMs"],
  ["CPU ms per query, 64 at a time", "at64CpuMs"],
  ["queries/s, 1 at a time", "at1PerSecond"],
  ["queries/s, 16 at a time", "at16PerSecond"],
  ["queries/s, 64 at a time", "at64PerSecond"],
  ["ms of a query p50, 1 at a time", "at1P50Ms"],
  ["ms of a query p99, 1 at a time", "at1P99Ms"],
  ["ms of a query p50, 16 at a time", "at16P50Ms"],
  ["ms of a query p99, 16 at a time", "at16P99Ms"],
  ["ms of a query p50, 64 at a time", "at64P50Ms"],
  ["ms of a query p99, 64 at a time", "at64P99Ms"],
  ["CPU ms per streamed query, 100 tokens, 16 at a time", "streamCpuMs"],
  ["CPU µs per token, 200 paced streams", "tokenCpuUs"],
  ["first event ms p50, 200 streams", "firstEventMs"],
  ["first token ms p50, 200 streams", "firstTokenMs"],
  ["resident KB per open stream, 200 streams", "streamKb"],
  ["CPU ms per query, thread of 10 messages", "history10CpuMs"],
  ["CPU ms per query, thread of 100 messages", "history100CpuMs"],
  ["CPU ms per query, thread of 1,000 messages", "history1000CpuMs"],
  ["function call of 200 B, ms p50", "call200BP50Ms"],
  ["function call of 10 KB, ms p50", "call10KBP50Ms"],
  ["function call of 200 KB, ms p50", "call200KBP50Ms"],
  ["function calls/s, 200 B, 64 at a time", "call200BPerSecond"],
  ["function calls/s, 10 KB, 64 at a time", "call10KBPerSecond"],
  ["function calls/s, 200 KB, 64 at a time", "call200KBPerSecond"],
  ["CPU µs per function call of 200 B, both ends", "call200BCpuUs"],
  ["start to first answer, ms", "startMs"],
  ["idle memory, MB, all processes", "idleMb"],
];

const LETTERS = ["A", "B", "C"] as const;
const HEAD = ["", "A Patchbay", "B floor", "C AI SDK", "A / B", "A / C"];

/** The rows with measured figures, as cells. */
export function tableRows({ systems }: Measured): string[][] {
  const rows = ROWS.map(([text, name]) => {
    const [a, b, c] = LETTERS.map((letter) => systems[letter]?.[name]);
    const show = (value: number | undefined): string => (value === undefined ? "" : short(value));
    return [text, show(a), show(b), show(c), quotient(a, b), quotient(a, c)];
  });
  return [HEAD, ...rows.filter((cells) => cells.slice(1, 4).some((cell) => cell !== ""))];
}

const quotient = (a: number | undefined, b: number | undefined): string =>
  a === undefined || b === undefined || b <= 0 ? "" : (a / b).toFixed(2);

export function plainTable(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((cells) => cells[column]!.length)));
  const line = (cells: string[]): string =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join("  ");
  return rows.map((cells) => line(cells).trimEnd()).join("\n");
}

export function markdownTable([head, ...rows]: readonly string[][]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head!), line(head!.map((_, i) => (i === 0 ? "---" : "---:"))), ...rows.map(line)].join("\n");
}
