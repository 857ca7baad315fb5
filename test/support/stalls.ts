import { execFileSync } from "node:child_process";
import type { Reporter, TestModule, Vitest } from "vitest/node";
import { PATIENCE } from "@patchbay/test-support/patience";

const CHECK_MS = 60_000;
/** Tests and hooks have limits, so that a run stalls longer only if an import never ends, or a child process holds a worker's output. */
const STALLED_MS = 10 * 60_000 * PATIENCE;

/** Ends a run in which no file ends any more, and prints what it waits for. */
export class Stalls implements Reporter {
  readonly #running = new Set<string>();
  #endedAt = performance.now();

  onInit({ config }: Vitest): void {
    if (config.watch) return;
    setInterval(() => this.#look(), CHECK_MS).unref();
  }

  onTestModuleQueued({ moduleId }: TestModule): void {
    this.#running.add(moduleId);
  }

  onTestModuleEnd({ moduleId }: TestModule): void {
    this.#running.delete(moduleId);
    this.#endedAt = performance.now();
  }

  #look(): void {
    if (performance.now() - this.#endedAt < STALLED_MS) return;
    const processes = execFileSync("ps", ["-e", "-o", "pid,ppid,etimes,args"], { encoding: "utf8" });
    process.stderr.write(`No test file ended for ${STALLED_MS / 60_000} minutes.\n`);
    process.stderr.write(`Running: ${[...this.#running].join(", ") || "none"}\nProcesses:\n${processes}`);
    process.exit(1);
  }
}
