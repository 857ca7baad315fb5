import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface StartOptions {
  env?: Record<string, string>;
  cwd?: string;
  /** A command that runs Node: a tracer. */
  under?: readonly string[];
  /** Opens a channel to the child, which ends when this process does. */
  ipc?: true;
}

// An interrupted benchmark must not leave processes running.
const living = new Set<ChildProcess>();
process.once("exit", () => living.forEach((child) => child.kill("SIGTERM")));
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => process.exit(130));

const READY_MS = 30_000;
const STOP_MS = 5_000;

/** Starts a script with this Node, which the caller stops, and waits for a line of JSON on standard output with `ready` in it. */
export async function start(script: string, args: readonly string[], options: StartOptions = {}) {
  const launched = launch(script, args, options);
  return { ...launched, ready: await launched.whenReady };
}

/** As `start`, without waiting. */
export function launch(script: string, args: readonly string[], { env, cwd, under = [], ipc }: StartOptions = {}) {
  const command = [...under, nodeCopy(), script, ...args];
  const child = spawn(command[0]!, command.slice(1), {
    env: { ...cleanEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe", ...(ipc ? ["ipc" as const] : [])],
    ...(cwd !== undefined && { cwd }),
  });
  living.add(child);
  child.once("exit", () => living.delete(child));
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(-4_000)));
  const whenReady = readyLine(child, script, () => stderr);
  whenReady.catch(() => {});
  return {
    child,
    whenReady,
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: () => stop(child),
  };
}

let copy: string | undefined;

/**
 * A copy of this Node.js. The kernel maps a file in the units in which it cached it: a process of a binary that was just unpacked
 * counts 20 MB more than one of a binary that was copied or read from disk.
 */
function nodeCopy(): string {
  if (copy !== undefined) return copy;
  const folder = mkdtempSync(join(tmpdir(), "patchbay-bench-node-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  copy = join(folder, "node");
  copyFileSync(process.execPath, copy);
  return copy;
}

/** Settings of the machine must not change the measurement. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(PATCHBAY_|OPENAI_|ANTHROPIC_|GEMINI_|LANG(?:CHAIN|SMITH|GRAPH)_|NODE_)/.test(name),
  );
  return Object.fromEntries(kept);
}

async function readyLine(child: ChildProcess, script: string, stderr: () => string): Promise<Record<string, string>> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, string>>();
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (more: string) => {
    text += more;
    const line = /^\{"ready".*\}$/m.exec(text)?.[0];
    if (line !== undefined) resolve(JSON.parse(line) as Record<string, string>);
  });
  child.once("error", reject);
  child.once("exit", (code) => reject(new Error(`${script} exited with ${code} before it was ready: ${stderr()}`)));
  const late = setTimeout(() => reject(new Error(`${script} was not ready in ${READY_MS} ms: ${stderr()}`)), READY_MS);
  return promise.finally(() => clearTimeout(late));
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const inner = childrenOf(child.pid ?? 0);
  for (const pid of inner.length > 0 ? inner : [child.pid ?? 0]) signal(pid, "SIGTERM");
  const kill = setTimeout(() => [...inner, child.pid ?? 0].forEach((pid) => signal(pid, "SIGKILL")), STOP_MS);
  await gone;
  clearTimeout(kill);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    if (pid > 0) process.kill(pid, name);
  } catch {
    // It has already ended.
  }
}

/** The process of Node: under a tracer, the child of the child. */
export function measuredPid({ pid = 0 }: ChildProcess, under: readonly string[] | undefined): number {
  return (under && childrenOf(pid)[0]) ?? pid;
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

const TICK_MS = 10;

/** User and system time of all threads of the processes, in ms. The kernel counts it in ticks of 10 ms. */
export function cpuMs(pids: readonly number[]): number {
  return sum(pids.map((pid) => sum(ticksOf(pid).slice(0, 2)))) * TICK_MS;
}

/** As `cpuMs`, of a process and its children, with those that have ended. */
export function cpuMsWithChildren(pid: number): number {
  for (;;) {
    const children = childrenOf(pid);
    const living = sum(children.flatMap(ticksIfAlive));
    const total = (living + sum(ticksOf(pid))) * TICK_MS;
    // The time of a child that ends meanwhile moves to its parent, and would count twice.
    if (String(childrenOf(pid)) === String(children)) return total;
  }
}

function ticksIfAlive(pid: number): number[] {
  try {
    return ticksOf(pid);
  } catch {
    return [];
  }
}

/** User and system time of the process, then of its children that have ended. */
function ticksOf(pid: number): number[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15)
    .map(Number);
}

/** Resident memory in KiB. */
export function residentKb(pids: readonly number[]): number {
  return sum(pids.map((pid) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0)));
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

/** Throws on systems without /proc. */
export function requireLinux(): void {
  try {
    readdirSync("/proc/self/task");
  } catch {
    throw new Error(
      "The benchmark reads CPU time and memory from /proc, which exists only on Linux. Run it in a Linux container.",
    );
  }
}
