import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { THIS_VERSION } from "./versions.ts";

/** A process of the lab that can be stopped and started again under the same name. */
export interface LabProcess extends AsyncDisposable {
  readonly name: string;
  readonly pid: number | undefined;
  readonly alive: boolean;
  /** Exits that the test did not cause. */
  readonly exits: number;
  /** Resolves with the process's ready line once it is ready. */
  start(): Promise<Record<string, unknown>>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGTERM; resolves when it has ended. */
  terminate(): Promise<{ code: number | null; ms: number }>;
  pause(): void;
  resume(): void;
  /** Everything it wrote to stderr, over all its starts. */
  log(): string;
}

export interface ProcessOptions {
  env?: Record<string, string>;
  logFile: string;
  /** Time limit for its start. Default 60,000. */
  readyMs?: number;
  /** A command that runs the process, such as `strace -D`. It must `exec` the process. */
  under?: string[];
}

/** A process of a version of the service, which can be replaced by another version. */
export interface PatchbayProcess extends LabProcess {
  /** From the next start on, runs the version whose source is in this folder. */
  use(version: string): void;
}

/** A process that runs `patchbay` with these arguments, of this version or the one that the options name. */
export function patchbayProcess(
  name: string,
  args: string[],
  { version = THIS_VERSION, ...options }: ProcessOptions & { version?: string },
): PatchbayProcess {
  const commandOf = (folder: string): string => join(folder, "packages/cli/src/main.ts");
  const command = [commandOf(version), ...args];
  return Object.assign(labProcess(name, command, options), {
    use: (next: string) => void (command[0] = commandOf(next)),
  });
}

// This process must not leave others behind, however it ends.
const children = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** A Node process. It is ready when it prints a JSON line with `ready`. */
export function labProcess(name: string, args: string[], options: ProcessOptions): LabProcess {
  const { env = {}, logFile, under = [], readyMs = 60_000 } = options;
  let child: ChildProcess | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  let wanted = false;
  let exits = 0;

  async function start(): Promise<Record<string, unknown>> {
    const log = openSync(logFile, "a");
    const [file = "", ...rest] = [...under, process.execPath, ...args];
    const { PATH, HOME } = process.env;
    const started = spawn(file, rest, { env: { PATH, HOME, NO_COLOR: "1", ...env }, stdio: ["ignore", "pipe", log] });
    closeSync(log);
    child = started;
    children.add(started);
    wanted = true;
    ended = once(started, "close").then(() => {
      children.delete(started);
      if (wanted && child === started) exits++;
    });
    return ready(started, ended);
  }

  async function ready(started: ChildProcess, ended: Promise<unknown>): Promise<Record<string, unknown>> {
    const lines = createInterface({ input: started.stdout! });
    const said = new Promise<string>((resolve) => {
      lines.on("line", (line) => line.startsWith('{"ready"') && resolve(line));
    });
    const failed = ended.then(() => fail("ended before it was ready"));
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), readyMs);
    const tooLate = once(late.signal, "abort").then(() => fail("was not ready in time"));
    failed.catch(() => {});
    tooLate.catch(() => {});
    try {
      return JSON.parse(await Promise.race([said, failed, tooLate])) as Record<string, unknown>;
    } finally {
      clearTimeout(timer);
    }
  }

  function fail(what: string): never {
    throw new Error(`${name} ${what}:\n${self.log().slice(-4_000)}`);
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    wanted = false;
    child?.kill(signal);
    await ended;
  }

  const self: LabProcess = {
    name,
    get pid() {
      return child?.pid;
    },
    get alive() {
      return child !== undefined && child.exitCode === null && child.signalCode === null;
    },
    get exits() {
      return exits;
    },
    start,
    kill: () => end("SIGKILL"),
    async terminate() {
      const began = performance.now();
      await end("SIGTERM");
      return { code: child?.exitCode ?? null, ms: performance.now() - began };
    },
    pause: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
    log: () => (existsSync(logFile) ? readFileSync(logFile, "utf8") : ""),
    [Symbol.asyncDispose]: () => end("SIGKILL"),
  };
  return self;
}

/** The resident memory of a process, in KiB. */
export function residentKb(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
}

/** The processor time that a process has used, in milliseconds. Ticks are hundredths of a second on Linux. */
export function cpuMs(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
