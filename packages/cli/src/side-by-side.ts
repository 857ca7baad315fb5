import { stripVTControlCharacters } from "node:util";
import { paint } from "./output.ts";

const WIDTH = 100;
const GAP = "  ";
const WIDEST_NAME = 32;
const NARROWEST_CELL = 14;

/** One line of a comparison: its name, and a cell for each column. */
export interface ComparedRow {
  name: string;
  cells: string[];
}

/** A table no wider than 100 characters: cells wrap, and columns that do not fit beside the others stand below them. */
export function sideBySide(title: string, columns: readonly string[], rows: readonly ComparedRow[]): string {
  const named = Math.max(title.length, ...rows.map(({ name }) => name.length));
  const nameWidth = Math.min(named, WIDEST_NAME);
  const left = WIDTH - nameWidth;
  const perBlock = Math.max(1, Math.floor(left / (NARROWEST_CELL + GAP.length)));
  const blocks: string[] = [];
  for (let from = 0; from < columns.length; from += perBlock) {
    const shown = columns.slice(from, from + perBlock);
    const widths = [nameWidth, ...shown.map(() => Math.floor(left / shown.length) - GAP.length)];
    const lines = rows.flatMap(({ name, cells }) => wrapRow([name, ...cells.slice(from, from + perBlock)], widths));
    blocks.push([...wrapRow([title, ...shown], widths).map((line) => paint("bold", line)), ...lines].join("\n"));
  }
  return blocks.join("\n\n");
}

function wrapRow(cells: readonly string[], widths: readonly number[]): string[] {
  const wrapped = cells.map((cell, column) => wrap(cell, widths[column] ?? NARROWEST_CELL));
  const height = Math.max(...wrapped.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) =>
    wrapped
      .map((lines, column) => (lines[line] ?? "").padEnd(widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

/** Lines of at most `width` characters, broken between words where that is possible. */
export function wrap(text: string, width: number): string[] {
  return stripVTControlCharacters(text)
    .trim()
    .split(/\r?\n/)
    .flatMap((line) => wrapLine(line, width));
}

function wrapLine(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (longer.length <= width) {
      line = longer;
      continue;
    }
    if (line !== "") lines.push(line);
    line = word;
    for (; line.length > width; line = line.slice(width)) lines.push(line.slice(0, width));
  }
  return [...lines, line];
}
