import { spawn } from "node:child_process";
import { once } from "node:events";
import { present } from "@patchbay/kit";
import { type Check, CHECKS, KEY } from "./checks.ts";
import { inheritedEnvironment } from "./config.ts";
import { Session } from "./session.ts";

/** How to start the runtime under test: `command` or `start`. */
export interface ConformanceOptions {
  /**
   * The runtime's program and its arguments. It finds the address to connect to in `PATCHBAY_URL` and its key in
   * `PATCHBAY_RUNTIME_KEY`, and stops on SIGTERM. Its output goes to standard error.
   */
  command?: readonly [program: string, ...args: string[]];
  /** In place of `command`: starts the runtime, or has someone start it, and returns a function that asks it to stop. */
  start?: (target: { url: string; key: string }) => StopRuntime | Promise<StopRuntime>;
  /** The port on 127.0.0.1 to which the runtime connects. Default: a free one. */
  port?: number;
  /** Milliseconds that each wait for a connection or a frame may take. Default: 10,000. */
  waitMs?: number;
}

/** Asks the runtime under test to stop. */
export type StopRuntime = () => unknown;

/** What a check found. */
export interface ConformanceResult {
  /** The check's name in the reference. */
  name: string;
  rule: string;
  /** How the runtime broke the rule. Absent if it kept it. */
  problem?: string;
}

/**
 * Checks that a runtime in any language keeps the wire rules: plays its control plane, and returns every result.
 * Rejects if no runtime connects within `waitMs`.
 */
export async function runtimeConformance(options: ConformanceOptions): Promise<ConformanceResult[]> {
  const { command = [""], start = startCommand(command), port = 0, waitMs = 10_000 } = options;
  await using session = new Session({ port, waitMs });
  const stop = await start({ url: await session.url(), key: KEY });
  session.stop = stop;
  try {
    await session.connect();
    const results: ConformanceResult[] = [];
    for (const [name, check] of Object.entries(CHECKS))
      results.push({ name, rule: check.rule, ...present({ problem: await problemOf(check, session) }) });
    return results;
  } finally {
    await stop();
  }
}

/** Undefined if the runtime passes. */
async function problemOf({ run, expects }: Check, session: Session): Promise<string | undefined> {
  try {
    await session.ready();
    const [seen, expected] = [JSON.stringify(await run(session)), JSON.stringify(expects)];
    const [fault] = session.faults.splice(0);
    if (fault !== undefined) return `The runtime sent an invalid frame: ${fault}`;
    return seen === expected ? undefined : `Expected ${expected}, got ${seen}.`;
  } catch (error) {
    return (error as Error).message;
  }
}

const startCommand =
  ([program, ...args]: readonly string[]): NonNullable<ConformanceOptions["start"]> =>
  async ({ url, key }) => {
    const env = { ...inheritedEnvironment(), PATCHBAY_URL: url, PATCHBAY_RUNTIME_KEY: key };
    const child = spawn(program!, args, { env, stdio: ["ignore", 2, 2] });
    await once(child, "spawn");
    // Called again at the end, also for a runtime that did not stop.
    return () => child.kill(child.killed ? "SIGKILL" : "SIGTERM");
  };
