import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Working folder of commands without one. Not the shared /tmp, which may contain a `.patchbay` of another user. */
const emptyFolder = mkdtempSync(join(tmpdir(), "patchbay-cwd-"));
process.on("exit", () => rmSync(emptyFolder, { recursive: true, force: true }));

const source = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

export interface CommandOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** The user that the process runs as. */
  uid?: number;
  /** File of the command. Default: its source. */
  main?: string;
  /** In a terminal of its own, whose output is all in `stdout`. Default: with pipes and without an input. */
  terminal?: boolean;
  /** File of its Node.js. Default: the one that runs the tests. */
  node?: string;
}

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A started `patchbay` process; killed when disposed. */
export interface Running extends AsyncDisposable {
  process: ChildProcess;
  /** Resolves when either stream contains `text`; rejects when the process ends before. */
  seen(text: string | RegExp): Promise<string>;
  /** Types into the terminal. */
  type(text: string): void;
  finished: Promise<Finished>;
}

/** Starts the real command. Its environment has only PATH of the caller's, so that it uses no keys of the caller. */
export function startCommand(
  args: string[],
  { cwd = emptyFolder, env = {}, uid, main = source, terminal = false, node = process.execPath }: CommandOptions = {},
): Running {
  const command = [node, main, ...args];
  const quoted = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  const [program = "", ...rest] = terminal ? ["script", "-qfec", `exec ${quoted}`, "/dev/null"] : command;
  const child = spawn(program, rest, {
    cwd,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], NO_COLOR: "1", ...env },
    stdio: [terminal ? "pipe" : "ignore", "pipe", "pipe"],
    ...(uid !== undefined && { uid }),
  });
  const output = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const)
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
      for (const check of waiting) check();
    });
  const finished = new Promise<Finished>((resolve) => {
    child.on("close", (code) => {
      resolve({ code, ...output });
      for (const check of waiting) check();
    });
  });

  return {
    process: child,
    finished,
    seen(text) {
      return new Promise((resolve, reject) => {
        const check = () => {
          const all = output.stdout + output.stderr;
          const found = typeof text === "string" ? all.includes(text) && text : text.exec(all)?.[0];
          if (!found && child.exitCode === null) return;
          waiting.delete(check);
          if (found) resolve(found);
          else reject(new Error(`ended with ${child.exitCode} before ${text} was seen:\n${all}`));
        };
        waiting.add(check);
        check();
      });
    },
    type: (text) => void child.stdin?.write(text),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await finished;
    },
  };
}

/** Runs the real command to its end. */
export function runCommand(args: string[], options?: CommandOptions): Promise<Finished> {
  return startCommand(args, options).finished;
}

/** A new folder, removed when disposed. */
export async function temporaryFolder(parent = tmpdir()): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(parent, "patchbay-cli-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
