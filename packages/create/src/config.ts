import type { Readable, Writable } from "node:stream";
import { type PackageManager, packageManagerOf, runCommand } from "./package-manager.ts";

/** What service creation needs from the process. */
export interface Host {
  workingFolder: string;
  packageManager: PackageManager;
  /** Where questions are asked. Undefined: nothing is asked. */
  terminal: { input: Readable; output: Writable } | undefined;
  run(command: string, args: readonly string[], folder: string): Promise<number | null>;
}

export function thisProcess(): Host {
  const { stdin: input, stdout: output } = process;
  return {
    workingFolder: process.cwd(),
    packageManager: packageManagerOf(process.env["npm_config_user_agent"]),
    terminal: input.isTTY && output.isTTY ? { input, output } : undefined,
    run: runCommand,
  };
}
