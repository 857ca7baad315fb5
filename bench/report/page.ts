import { readFileSync, writeFileSync } from "node:fs";

const BEGIN = "<!-- measured: written by `pnpm bench --write` -->";
const END = "<!-- end of measured -->";

/** Puts `text` between the page's two markers. Throws where they are not there. */
export function replaceMeasured(page: string, text: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin === -1 || end < begin)
    throw new Error(`The page has no place for the table: it needs ${BEGIN} and ${END}.`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${page.slice(end)}`;
}

export function writePage(file: string, text: string): void {
  writeFileSync(file, replaceMeasured(readFileSync(file, "utf8"), text));
}
