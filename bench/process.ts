import { spawn, type ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** A process of a measured system. Whoever started it stops it. */
export interface Started extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly pid: number;
  /** What its ready line says. */
  readonly ready: Record<string, string>;
}

export interface StartOptions {
  env?: Record<string, string>;
  cwd?: string;
  /** A command put before Node's: a tracer. */
  under?: readonly string[];
  /** Opens a channel to the child, which ends when this process does. */
  ipc?: true;
}

// A benchmark that is interrupted leaves nothing running.
const living = new Set<ChildProcess>();
process.once("exit", () => living.forEach((child) => child.kill("SIGTERM")));
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => process.exit(130));

const READY_MS = 30_000;
const STOP_MS = 5_000;

/** Starts a script with this Node and waits for its ready line: a line of JSON on standard output with `ready` in it. */
export async function start(script: string, args: readonly string[], options: StartOptions = {}): Promise<Started> {
  const launched = launch(script, args, options);
  return { ...launched, ready: await launched.whenReady };
}

/** As `start`, but does not wait. */
export function launch(script: string, args: readonly string[], { env, cwd, under = [], ipc }: StartOptions = {}) {
  const command = [...under, process.execPath, script, ...args];
  const child = spawn(command[0]!, command.slice(1), {
    env: { ...cleanEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe", ...(ipc ? ["ipc" as const] : [])],
    ...(cwd !== undefined && { cwd }),
  });
  living.add(child);
  child.once("exit", () => living.delete(child));
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-4_000)));
  const whenReady = readyLine(child, script, () => said);
  whenReady.catch(() => {});
  return {
    child,
    whenReady,
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: () => stop(child),
  };
}

/** Settings of the machine must not change what is measured. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(PATCHBAY_|OPENAI_|ANTHROPIC_|GEMINI_|NODE_)/.test(name),
  );
  return Object.fromEntries(kept);
}

async function readyLine(child: ChildProcess, script: string, said: () => string): Promise<Record<string, string>> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, string>>();
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (more: string) => {
    text += more;
    const line = /^\{"ready".*\}$/m.exec(text)?.[0];
    if (line !== undefined) resolve(JSON.parse(line) as Record<string, string>);
  });
  child.once("error", reject);
  child.once("exit", (code) => reject(new Error(`${script} exited with ${code} before it was ready: ${said()}`)));
  const late = setTimeout(() => reject(new Error(`${script} was not ready in ${READY_MS} ms: ${said()}`)), READY_MS);
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
    // It ended by itself meanwhile.
  }
}

/** Under a tracer Node is the child's child. */
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

/** User and system time that processes have used, all their threads together, in ms. The kernel counts it in ticks of 10 ms. */
export function cpuMs(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(fields[11]) + Number(fields[12]);
  });
  return sum(ticks) * TICK_MS;
}

/** Resident memory in KiB. */
export function residentKb(pids: readonly number[]): number {
  return sum(pids.map((pid) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0)));
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

/** Fails where this is no machine the benchmark can measure on. */
export function requireLinux(): void {
  try {
    readdirSync("/proc/self/task");
  } catch {
    throw new Error(
      "The benchmark reads CPU time and memory from /proc, which only Linux has. Run it in a Linux container.",
    );
  }
}
