import { readFileSync } from "node:fs";

/** Memory of a process that is in RAM, in KiB. */
export function residentKb(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
}
