import { randomUUID } from "node:crypto";
import { styleText } from "node:util";
import { escapeControls } from "@patchbay/protocol";
import { columnsOf, oneLine, padColumns } from "./text.ts";

type Style = Parameters<typeof styleText>[0];

const writeStdout = process.stdout.write.bind(process.stdout);
const ESCAPE = "\u001b[";
/** Begins our own styles until they are written. Random, so that text from outside cannot hold it. */
const OWN = `\u0000${randomUUID()}`;

/** The one way to the terminal: control characters that are not of our own styles are escaped. */
function printable(text: string): string {
  return `${text.replaceAll("\r\n", "\n").split(OWN).map(escapeControls).join(ESCAPE)}\n`;
}

/** Writes a result to stdout. */
export function say(text: string): void {
  writeStdout(printable(text));
}

/** Writes progress, a log line or a reason to stderr. */
export function tell(text: string): void {
  process.stderr.write(printable(text));
}

export function printJson(value: object): void {
  say(JSON.stringify(value));
}

/** Keeps stdout for results: what code that this process loads prints there goes to stderr. */
export function keepStdoutForResults(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
}

/** Resolves when everything so far was written. A pipe takes 64 KiB and leaves the rest waiting in this process. */
export async function written(): Promise<void> {
  const flush = (write: typeof writeStdout) => new Promise<void>((done) => void write("", () => done()));
  await Promise.all([flush(writeStdout), flush(process.stderr.write.bind(process.stderr))]);
}

/** Coloured where stdout is a terminal that wants colour (NO_COLOR and FORCE_COLOR are obeyed). */
export function paint(style: Style, text: string): string {
  return painted(style, text, process.stdout);
}

/** As `paint`, for what goes to stderr. */
export function paintLog(style: Style, text: string): string {
  return painted(style, text, process.stderr);
}

function painted(style: Style, text: string, stream: NodeJS.WriteStream): string {
  return styleText(style, escapeControls(text), { stream }).replaceAll(ESCAPE, OWN);
}

/** Columns of the terminal that results go to; no limit where they go to a file or a program. */
export function terminalWidth(): number {
  return (process.stdout.isTTY && process.stdout.columns) || Number.POSITIVE_INFINITY;
}

/**
 * Columns padded to their widest cell, with a heading; `empty` where there are no rows. A table wider than the terminal is
 * written as a block of `heading  cell` lines for each row.
 */
export function table(headings: string[], rows: string[][], empty: string, width = terminalWidth()): string {
  if (rows.length === 0) return empty;
  const cells = rows.map((row) => row.map(oneLine));
  const widths = headings.map((heading, column) =>
    Math.max(columnsOf(heading), ...cells.map((row) => columnsOf(row[column] ?? ""))),
  );
  const needed = widths.reduce((sum, one) => sum + one, 2 * (widths.length - 1));
  if (needed > width)
    return cells
      .map((row) => fields(headings.map((heading, column) => [heading, row[column] ?? ""] as const)))
      .join("\n\n");
  const line = (row: string[]) =>
    row
      .map((cell, column) => padColumns(cell, widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return [paint("bold", line(headings)), ...cells.map(line)].join("\n");
}

/** `name  value` lines, names aligned. */
export function fields(pairs: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...pairs.map(([name]) => columnsOf(name)));
  return pairs
    .map(([name, value]) => `${paint("dim", padColumns(name, width))}  ${oneLine(value)}`.trimEnd())
    .join("\n");
}
