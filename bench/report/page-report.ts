import { cpus } from "node:os";
import { AIMS, judge, MUSTS, type Measured } from "./musts.ts";
import { fsyncLine } from "./report.ts";
import { markdownTable, tableRows } from "./table.ts";

/** The measured part of docs/performance.md. */
export function pageReport(measured: Measured, rounds: number): string {
  const { fsync, packages } = measured;
  const judged = (title: string, musts: typeof MUSTS): string =>
    `${title}\n\n\`\`\`\n${judge(musts, measured)
      .map(({ line }) => line)
      .join("\n")}\n\`\`\``;
  return [
    `Medians of ${rounds} rounds on ${cpus().length} cores (${cpus()[0]?.model.trim() ?? "unknown"}), Node ${process.versions.node}.`,
    markdownTable(tableRows(measured)),
    ...(fsync ? [`${fsyncLine(fsync)}.`] : []),
    `Packages installed at run time for the control plane: ${packages}.`,
    judged("What must hold:", MUSTS),
    judged("What is aimed at:", AIMS),
  ].join("\n\n");
}
