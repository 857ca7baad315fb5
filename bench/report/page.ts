import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { AIMS, judge, type Measured, MUSTS } from "./musts.ts";
import { fsyncLine } from "./report.ts";
import { markdownTable, tablesOf } from "./table.ts";

const BEGIN = "<!-- measured: written by `pnpm bench --write` -->";
const END = "<!-- end of measured -->";

/** Replaces the text between the two markers of the page. Throws when they are missing. */
export function replaceMeasured(page: string, text: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error(`The page needs the markers ${BEGIN} and ${END}.`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${page.slice(end)}`;
}

export function writePage(file: string, text: string): void {
  writeFileSync(file, replaceMeasured(readFileSync(file, "utf8"), text));
}

/** The measured part of docs/performance.md. */
export function pageReport(measured: Measured): string {
  const { fsync, packages, rounds = 0 } = measured;
  const judged = (title: string, musts: typeof MUSTS): string =>
    `${title}\n\n\`\`\`\n${judge(musts, measured, { absent: true })
      .map(({ line }) => line)
      .join("\n")}\n\`\`\``;
  return [
    `Medians of ${rounds} ${rounds === 1 ? "round" : "rounds"} on ${cpus().length} cores (${cpus()[0]?.model.trim() ?? "unknown"}), Node ${process.versions.node}.`,
    ...tablesOf(measured).map(markdownTable),
    ...(fsync ? [`${fsyncLine(fsync)}.`] : []),
    `Packages installed at run time for the control plane: ${packages}.`,
    judged("Required:", MUSTS),
    judged("Goals:", AIMS),
  ].join("\n\n");
}
