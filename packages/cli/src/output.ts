import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Writes to stdout: results alone. */
export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes to stderr: progress, logs, reasons. */
export function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function printJson(value: object): void {
  say(JSON.stringify(value));
}

/** Coloured where stdout is a terminal that wants colour (NO_COLOR and FORCE_COLOR are obeyed). */
export function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** As `paint`, for what goes to stderr. */
export function paintLog(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stderr });
}

/** Columns padded to their widest cell, with a heading; `empty` stands where there are no rows. */
export function table(headings: string[], rows: string[][], empty: string): string {
  if (rows.length === 0) return empty;
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return [paint("bold", line(headings)), ...rows.map(line)].join("\n");
}

/** `name  value` lines, names aligned. */
export function fields(pairs: [name: string, value: string][]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${paint("dim", name.padEnd(width))}  ${value}`).join("\n");
}
