import { AIMS, judge, MUSTS, short, type Measured } from "./musts.ts";
import { plainTable, tablesOf } from "./table.ts";

export function textReport(measured: Measured): string {
  const { counts = {}, fsync, packages } = measured;
  const parts = [
    ...tablesOf(measured).map(plainTable),
    ...Object.entries(counts).map(countsLine),
    ...(fsync ? [fsyncLine(fsync)] : []),
    `packages installed at run time for the control plane: ${packages}`,
    `Must\n${lines(judge(MUSTS, measured))}`,
    `Aim\n${lines(judge(AIMS, measured))}`,
  ];
  return `${parts.join("\n\n")}\n`;
}

export function jsonReport(measured: Measured): string {
  const missed = judge(MUSTS, measured).filter((one) => one.missed);
  return `${JSON.stringify({ ...measured, missed: missed.map(({ line }) => line.replace(/^MISSED\s+/, "")) })}\n`;
}

export const fsyncLine = ({ single, together }: NonNullable<Measured["fsync"]>): string =>
  `queries/s with an fsync of 10 ms: ${short(single)} one at a time, ${short(together)} at 64 at a time (${short(together / single)} x)`;

const countsLine = ([letter, counts]: [string, object]): string =>
  `one query, ${letter}: ${Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ")}`;

const lines = (judged: { line: string }[]): string => judged.map(({ line }) => `  ${line}`).join("\n");
