import { withSystemPath } from "./system-path.ts";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { atEnd } from "./clean-up.ts";
import { freePort } from "./free-port.ts";
import { until } from "./inbox.ts";
import { WAIT_MS } from "./patience.ts";

const READY = /Server is ready$/;

// A test that times out does not reach its end, and must not leave a process behind either.
const started = new Set<ChildProcess>();
atEnd(() => started.forEach((server) => server.kill("SIGKILL")));

/** A NATS server for one test, with a fixed port. */
export interface OwnNats extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Process id of the server. */
  readonly pid: number;
  kill9(): Promise<void>;
  /** Stops it with SIGTERM. */
  stop(): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
  /** Freezes it: it keeps its connections and answers nothing once this resolves. */
  pause(): Promise<void>;
  resume(): void;
}

export interface OwnNatsOptions {
  /** More arguments of `nats-server`: logins, limits. */
  args?: string[];
  /** Part of the URL before the host, such as `user:password`. */
  login?: string;
}

let shared: Promise<string | undefined> | undefined;

/**
 * The URL of a NATS server for tests that only use it: PATCHBAY_TEST_NATS, else a server on 127.0.0.1:4222, else one started for
 * this test file. Prints a line and returns undefined if it cannot start one.
 */
export function testNats(): Promise<string | undefined> {
  return (shared ??= findNats());
}

/** True if `ownNats` can start servers. */
export function hasNatsServer(): boolean {
  return spawnSync("nats-server", ["--version"], { env: withSystemPath() }).error === undefined;
}

/** Starts a server on a free port. */
export async function ownNats({ args = [], login }: OwnNatsOptions = {}): Promise<OwnNats> {
  const port = await freePort();
  let server = await launch(port, args);

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, "exit");
    server.kill(signal);
    await exited;
    started.delete(server);
  }

  return {
    url: `nats://${login === undefined ? "" : `${login}@`}127.0.0.1:${port}`,
    port,
    get pid() {
      return server.pid ?? 0;
    },
    kill9: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
    async start() {
      server = await launch(port, args);
    },
    async pause() {
      server.kill("SIGSTOP");
      await until(() => frozen(server.pid ?? 0), "nats-server is stopped");
    },
    resume: () => void server.kill("SIGCONT"),
    [Symbol.asyncDispose]: () => end("SIGKILL"),
  };
}

async function findNats(): Promise<string | undefined> {
  const { PATCHBAY_TEST_NATS: given } = process.env;
  if (given) return given;
  if (await answers(4222)) return "nats://127.0.0.1:4222";
  if (hasNatsServer()) return (await ownNats()).url;
  console.warn("!!! NATS TESTS ARE SKIPPED: set PATCHBAY_TEST_NATS, or install nats-server !!!");
  return undefined;
}

async function launch(port: number, args: string[]): Promise<ChildProcess> {
  const server = spawn("nats-server", ["--addr", "127.0.0.1", "--port", String(port), ...args], {
    env: withSystemPath(),
    stdio: ["ignore", "ignore", "pipe"],
  });
  started.add(server);
  const late = setTimeout(() => server.kill("SIGKILL"), WAIT_MS);
  const said: string[] = [];
  const failed = once(server, "error").then(([error]) => said.push(String(error)));
  for await (const line of createInterface({ input: server.stderr })) {
    said.push(line);
    if (!READY.test(line)) continue;
    clearTimeout(late);
    server.stderr.resume();
    return server;
  }
  clearTimeout(late);
  await Promise.race([failed, once(server, "exit")]).catch(() => {});
  throw new Error(`nats-server did not start within ${WAIT_MS} ms or ended: ${said.join("\n")}`);
}

/** True once every thread is stopped: SIGSTOP does not reach all threads at the same time. */
function frozen(pid: number): boolean {
  if (!existsSync("/proc/self/task")) return true;
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.every((thread) => /\) [Tt] /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8")));
}

async function answers(port: number): Promise<boolean> {
  const socket = connect({ host: "127.0.0.1", port });
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const late = setTimeout(() => resolve(false), 1_000);
  socket.once("data", (greeting: Buffer) => resolve(greeting.toString().startsWith("INFO ")));
  socket.once("error", () => resolve(false));
  const found = await promise;
  clearTimeout(late);
  socket.destroy();
  return found;
}
