import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { median } from "./jobs.ts";

const TIMES = 3;

/** Milliseconds of `patchbay access` for a service of 50 functions and 6 roles, from the start of the process to its end. */
export async function accessTimes(command: string, service: string): Promise<{ checkMs: number; searchMs: number }> {
  const run = async (...options: string[]): Promise<number> => {
    const startedAt = performance.now();
    await promisify(execFile)(process.execPath, [command, "access", service, ...options]);
    return performance.now() - startedAt;
  };
  await run("--write");
  const checks: number[] = [];
  for (let i = 0; i < TIMES; i++) checks.push(await run("--check"));
  return { checkMs: median(checks), searchMs: await run("--search", "--seed", "1") };
}
