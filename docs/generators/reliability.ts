import type { Figures } from "../../test/faults/figures.ts";
import { PROMISES } from "../../test/faults/promises/index.ts";
import { type Promised, shown } from "../../test/faults/promises/promise.ts";
import { type Entry, render } from "./section.ts";

/** The newest figures of each scenario, with the commit and the day of their measurement. */
export type StoredFigures = Readonly<Record<string, { commit: string; date: string; figures: Figures }>>;

const PART = /(<!-- ([\w-]+): written by `pnpm faults --write` -->\n)[^]*?(\n<!-- end of \2 -->)/g;

/** The page with the tables of all promises and figures between its markers. Throws if a marker is missing or unknown. */
export function reliabilityPage(page: string, stored: StoredFigures): string {
  const parts = new Map(Object.entries(PROMISES).map(([part, promises]) => [part, promiseTable(promises, stored)]));
  parts.set("figures", figureTable(stored));
  const written = page.replaceAll(PART, (_, begin: string, name: string, end: string) => {
    const text = parts.get(name);
    if (text === undefined) throw new Error(`The page has the part ${name} twice, or it has no promises.`);
    parts.delete(name);
    return `${begin}\n${text}\n${end}`;
  });
  if (parts.size > 0) throw new Error(`The page has no markers for the part ${[...parts.keys()].join(", ")}.`);
  return written;
}

const table = (columns: readonly [string, string, string], entries: Entry[]) => render([{ columns, entries }]);

function promiseTable(promises: readonly Promised[], stored: StoredFigures): string {
  const rows = promises.map(({ promise, tests = {}, atMost = {} }) => ({
    name: promise,
    facts: [...testLinks(tests), ...Object.keys(atMost).map((scenario) => `[${scenario}](#measurements)`)].join("<br>"),
    description: Object.entries(atMost)
      .map(([scenario, limits]) => measured(Object.keys(limits), stored[scenario]))
      .join("<br>"),
  }));
  return table(["promise", "proof", "measured"], rows);
}

function testLinks(tests: NonNullable<Promised["tests"]>): string[] {
  return Object.entries(tests).flatMap(([file, names]) =>
    [names].flat().map((name) => `[${name.replaceAll(/[[\]<*`]/g, String.raw`\$&`)}](../${file})`),
  );
}

function measured(names: readonly string[], stored: StoredFigures[string] | undefined): string {
  const found = names.filter((name) => stored?.figures[name] !== undefined);
  if (!stored || found.length === 0) return "not measured";
  return `${found.map((name) => `${name} ${shown(name, stored.figures[name]!)}`).join(", ")} (${stored.commit}, ${stored.date})`;
}

function figureTable(stored: StoredFigures): string {
  const rows = Object.entries(stored).map(([scenario, { commit, date, figures }]) => ({
    name: scenario,
    facts: Object.entries(figures)
      .filter(([name]) => name !== "seed")
      .map(([name, value]) => `${name} ${shown(name, value)}`)
      .join(", "),
    description: `${commit}, ${date}`,
  }));
  return table(["scenario", "figures", "commit"], rows);
}
