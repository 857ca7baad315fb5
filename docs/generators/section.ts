/** A member, an option or a code, as a row of a table or a part of its own. */
export interface Entry {
  name: string;
  /** Type, default and bounds, as Markdown. */
  facts: string;
  /** What it means: its unit and effect, and what happens beyond its bounds. Markdown. */
  description: string;
}

/** A part of a generated page. */
export interface Section {
  heading?: string;
  text?: string;
  /** Names of the table's columns. Without them each entry has its own heading, so that links can lead to it. */
  columns?: readonly [name: string, facts: string, description: string];
  entries: readonly Entry[];
  sections?: readonly Section[];
}

/** Markdown of the sections, whose headings begin at `level`. */
export function render(sections: readonly Section[], level = 2): string {
  const heading = (depth: number, text: string) => `${"#".repeat(depth)} ${text}`;
  return sections
    .flatMap(({ heading: title, text, columns, entries, sections: inner = [] }) => [
      ...(title === undefined ? [] : [heading(level, title)]),
      ...(text ? [text] : []),
      ...(columns && entries.length > 0 ? [table(columns, entries)] : []),
      ...(columns ? [] : entries.flatMap((one) => [heading(level + 1, one.name), one.facts, one.description])),
      render(inner, level + 1),
    ])
    .filter((part) => part !== "")
    .join("\n\n");
}

const cell = (text: string) => text.replaceAll("|", String.raw`\|`).replaceAll("\n", " ");

function table(columns: readonly string[], entries: readonly Entry[]): string {
  const rows = [columns, columns.map(() => "---"), ...entries.map((one) => [one.name, one.facts, one.description])];
  return rows.map((row, index) => `| ${row.map((text) => (index === 1 ? text : cell(text))).join(" | ")} |`).join("\n");
}

/** All entries of sections, with the headings that lead to them. */
export function entriesIn(sections: readonly Section[], path: readonly string[] = []): [place: string, entry: Entry][] {
  return sections.flatMap(({ heading, entries, sections: inner = [] }) => {
    const here = heading === undefined ? path : [...path, heading];
    return [
      ...entries.map((entry): [string, Entry] => [[...here, entry.name].join(" › "), entry]),
      ...entriesIn(inner, here),
    ];
  });
}

const FILLERS = new Set("a an and be by for in is it its of on or that the this to which with".split(" "));

const wordsOf = (text: string): string[] =>
  text
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "" && !FILLERS.has(word))
    .map((word) => word.replace(/s$/, ""));

/** True if a description says something that the name does not: `sessionId: id of the session` does not. */
export function isInformative({ name, description }: Entry): boolean {
  const known = new Set(wordsOf(name));
  return wordsOf(description).filter((word) => !known.has(word)).length >= 2;
}
