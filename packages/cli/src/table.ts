import { escapeControls } from "@patchbay/kit";
import { oneLine, paint, terminalWidth } from "./output.ts";

const GAP = "  ";

/**
 * A table with a heading; `empty` when there are no rows. One that is wider than the terminal becomes a block of
 * `heading  cell` lines for each row.
 */
export function table(headings: string[], rows: string[][], empty: string, width = terminalWidth()): string {
  if (rows.length === 0) return empty;
  const cells = rows.map((row) => row.map(oneLine));
  const widths = headings.map((heading, column) =>
    Math.max(columnsOf(heading), ...cells.map((row) => columnsOf(row[column] ?? ""))),
  );
  const needed = widths.reduce((sum, wide) => sum + wide, GAP.length * (widths.length - 1));
  if (needed > width)
    return cells
      .map((row) => fields(headings.map((heading, column) => [heading, row[column] ?? ""] as const)))
      .join("\n\n");
  return [paint("bold", padRow(headings, widths)), ...cells.map((row) => padRow(row, widths))].join("\n");
}

/** A table of items. Each column shows a member by its name, or what a function makes of the item. */
export function listing<Item extends object>(
  items: readonly Item[],
  empty: string,
  columns: Readonly<Record<string, keyof Item | ((item: Item) => string)>>,
): string {
  const cells = Object.values(columns);
  const rows = items.map((item) =>
    cells.map((cell) => (typeof cell === "function" ? cell(item) : String(item[cell] ?? ""))),
  );
  return table(Object.keys(columns), rows, empty);
}

/** `name  value` lines with aligned values. */
export function fields(pairs: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...pairs.map(([name]) => columnsOf(name)));
  return pairs
    .map(([name, value]) => `${paint("dim", padColumns(name, width))}${GAP}${oneLine(value)}`.trimEnd())
    .join("\n");
}

const WIDEST = 100;
const WIDEST_NAME = 32;
const NARROWEST_CELL = 14;

/** One comparison row: its name, and a cell for each column. */
export interface ComparedRow {
  name: string;
  cells: string[];
}

/** A table at most as wide as the terminal, and 100 columns: cells wrap, and columns that do not fit follow below. */
export function sideBySide(
  title: string,
  columns: readonly string[],
  rows: readonly ComparedRow[],
  width = Math.min(WIDEST, terminalWidth()),
): string {
  const longestName = Math.max(columnsOf(title), ...rows.map(({ name }) => columnsOf(name)));
  const nameWidth = Math.min(longestName, WIDEST_NAME, Math.max(1, width - NARROWEST_CELL - GAP.length));
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
    padRow(
      wrapped.map((lines) => lines[line] ?? ""),
      widths,
    ),
  );
}

/** Lines with at most `width` columns, broken between words where possible. */
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

let graphemes: Intl.Segmenter | undefined;

/** East Asian wide and full-width characters: the scripts and blocks of Unicode's EastAsianWidth.txt. */
const WIDE =
  /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Yi}\u3000-\u303e\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]/u;
const EMOJI = /^\p{Emoji_Presentation}|\ufe0f/u;

/** A text's visible characters, with the terminal columns that each takes. */
function* charactersOf(text: string): Generator<{ character: string; columns: number }> {
  // Made for the first table: Intl loads language data, megabytes that stay in a process.
  graphemes ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const { segment } of graphemes.segment(text))
    yield { character: segment, columns: WIDE.test(segment) || EMOJI.test(segment) ? 2 : 1 };
}

/** A text's width in terminal columns. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const character of charactersOf(text)) columns += character.columns;
  return columns;
}

function padRow(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, column) => padColumns(cell, widths[column] ?? 0))
    .join(GAP)
    .trimEnd();
}

const padColumns = (text: string, columns: number): string => text + " ".repeat(Math.max(0, columns - columnsOf(text)));
