import type { FigureName } from "../figures.ts";
import type { Letter } from "../system.ts";
import { short, type Measured } from "./musts.ts";

const ROWS: readonly [string, FigureName][] = [
  ["CPU ms per query, 16 at a time", "at16CpuMs"],
  ["of it Postgres", "at16DatabaseCpuMs"],
  ["CPU ms per query, 1 at a time", "at1CpuMs"],
  ["of it Postgres", "at1DatabaseCpuMs"],
  ["CPU ms per query, 64 at a time", "at64CpuMs"],
  ["of it Postgres", "at64DatabaseCpuMs"],
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
  ["CPU ms per query, 16 at a time, no stored runs", "retained0CpuMs"],
  ["CPU ms per query, 16 at a time, 200,000 stored runs", "retained200000CpuMs"],
  ["KB stored per query, no stored runs", "retained0Kb"],
  ["KB stored per query, 200,000 stored runs", "retained200000Kb"],
  ["slowest first page of a list, ms, 200,000 stored runs", "listMs"],
  ["slowest search of runs, ms, 200,000 stored runs", "searchMs"],
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

interface Table {
  /** Text of its first cell. */
  title: string;
  columns: readonly (readonly [Letter, string])[];
  /** Pairs of columns whose quotients follow. */
  ratios: readonly (readonly [Letter, Letter])[];
}

const TABLES: readonly Table[] = [
  {
    title: "embedded database",
    columns: [
      ["A", "A Patchbay"],
      ["B", "B floor"],
      ["C", "C AI SDK"],
    ],
    ratios: [
      ["A", "B"],
      ["A", "C"],
    ],
  },
  {
    title: "on Postgres",
    columns: [
      ["P", "P Patchbay"],
      ["N", "N two replicas"],
      ["F", "F floor"],
      ["L", "L LangGraph"],
    ],
    ratios: [
      ["P", "F"],
      ["P", "L"],
      ["N", "P"],
    ],
  },
];

/** A table for the systems with an embedded database or none, and one for those on Postgres; each with its measured rows, as cells. */
export function tablesOf(measured: Measured): string[][][] {
  const tables = TABLES.map((table) => rowsOf(table, measured));
  return tables.filter((rows) => rows.length > 1);
}

function rowsOf({ title, columns, ratios }: Table, { systems }: Measured): string[][] {
  const show = (value: number | undefined): string => (value === undefined ? "" : short(value));
  const rows = ROWS.filter(([, name]) => columns.some(([letter]) => systems[letter]?.[name] !== undefined)).map(
    ([text, name]) => [
      text,
      ...columns.map(([letter]) => show(systems[letter]?.[name])),
      ...ratios.map(([of, to]) => quotient(systems[of]?.[name], systems[to]?.[name])),
    ],
  );
  return [[title, ...columns.map(([, title]) => title), ...ratios.map(([of, to]) => `${of} / ${to}`)], ...rows];
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
