import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { reliabilityPage, type StoredFigures } from "../../docs/generators/reliability.ts";
import type { Figures } from "./figures.ts";

const ROOT = join(import.meta.dirname, "../..");
const FILE = join(import.meta.dirname, "figures.json");
const PAGE = join(ROOT, "docs/reliability.md");

export function readFigures(): StoredFigures {
  return JSON.parse(readFileSync(FILE, "utf8")) as StoredFigures;
}

/** Replaces the stored figures of one scenario, with the commit and the day, and writes docs/reliability.md with them. */
export function writeFigures(scenario: string, figures: Figures): void {
  const measured = { commit: commitOf(), date: new Date().toISOString().slice(0, 10), figures };
  const stored = { ...readFigures(), [scenario]: measured };
  const inOrder = Object.entries(stored).toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(inOrder), null, 2)}\n`);
  writeReliabilityPage();
}

/** Writes the tables of docs/reliability.md from the promises and the stored figures. */
export function writeReliabilityPage(): void {
  writeFileSync(PAGE, reliabilityPage(readFileSync(PAGE, "utf8"), readFigures()));
}

/** The commit that is checked out, with a plus if the packages differ from it: such figures are not those of any commit. */
function commitOf(): string {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
  return git("rev-parse", "--short=8", "HEAD") + (git("status", "--porcelain", "--", "packages") === "" ? "" : "+");
}
