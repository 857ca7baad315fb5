import { escapeControls } from "@patchbay/protocol";
import { paint, terminalWidth } from "./output.ts";
import { charactersOf, columnsOf, padColumns } from "./text.ts";

const WIDEST = 100;
const GAP = "  ";
const WIDEST_NAME = 32;
const NARROWEST_CELL = 14;

/** One line of a comparison: its name, and a cell for each column. */
export interface ComparedRow {
  name: string;
  cells: string[];
}

/** A table no wider than the terminal, and 100 columns at most: cells wrap, and columns that do not fit follow below. */
export function sideBySide(
  title: string,
  columns: readonly string[],
  rows: readonly ComparedRow[],
  width = Math.min(WIDEST, terminalWidth()),
): string {
  const named = Math.max(columnsOf(title), ...rows.map(({ name }) => columnsOf(name)));
  const nameWidth = Math.min(named, WIDEST_NAME, Math.max(1, width - NARROWEST_CELL - GAP.length));
  const left = width - nameWidth;
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
      .map((lines, column) => padColumns(lines[line] ?? "", widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

/** Lines of at most `width` columns, broken between words where that is possible. */
export function wrap(text: string, width: number): string[] {
  return escapeControls(text.replaceAll("\r\n", "\n"))
    .trim()
    .split("\n")
    .flatMap((line) => wrapLine(line, width));
}

function wrapLine(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (columnsOf(longer) <= width) {
      line = longer;
      continue;
    }
    if (line !== "") lines.push(line);
    const pieces = breakWord(word, width);
    line = pieces.pop() ?? "";
    lines.push(...pieces);
  }
  return [...lines, line];
}

function breakWord(word: string, width: number): string[] {
  const pieces: string[] = [];
  let [piece, used] = ["", 0];
  for (const { character, columns } of charactersOf(word)) {
    if (used + columns > width && piece !== "") {
      pieces.push(piece);
      [piece, used] = ["", 0];
    }
    piece += character;
    used += columns;
  }
  return [...pieces, piece];
}
