import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { vi } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { atEnd } from "./at-end.ts";

const SHIPPED = new URL("../../deploy/nginx.conf", import.meta.url);
const START_LIMIT_MS = 10_000;
const PATIENCE = { timeout: 5_000, interval: 20 };

// A test that runs out of time never comes to its end, and must leave no process behind all the same.
const started = new Set<ChildProcess>();
atEnd(() => started.forEach((server) => server.kill("SIGTERM")));

/** True where an nginx binary is found; says so in one line where tests of it will not run. */
export function hasNginx(): boolean {
  if (spawnSync("nginx", ["-v"], { env: path() }).error === undefined) return true;
  console.warn("SKIPPED: no nginx found, so deploy/nginx.conf is not tested (apt-get install nginx-light).");
  return false;
}

export interface NginxOptions {
  /** Ports of the replicas on 127.0.0.1. */
  replicas: readonly number[];
  /** Further replacements in the shipped file: what stands there, and what is to stand there. `PORT` is nginx's own. */
  replace?: Readonly<Record<string, string>>;
}

/** One line of the access log. */
export interface Passage {
  requestId: string;
  method: string;
  path: string;
  status: number;
  /** The replicas that were asked, in order. */
  replicas: string[];
}

export interface Nginx extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** What went through, once there are so many: a request's line is written after its answer has left. */
  passages(count: number): Promise<Passage[]>;
}

/** The shipped configuration run by a real nginx, with this machine's ports and a temporary folder in place of its own. */
export async function startNginx(options: NginxOptions): Promise<Nginx> {
  await using opening = new AsyncDisposableStack();
  const { path: folder } = opening.use(await temporaryFolder());
  await mkdir(join(folder, "run"));
  const port = await freePort();
  const file = join(folder, "nginx.conf");
  await writeFile(file, render(options, port, folder));

  // A master that is root would give its workers to a user who may not enter the temporary folder.
  const globals = `daemon off;${process.getuid?.() === 0 ? " user root;" : ""}`;
  const child = spawn("nginx", ["-p", folder, "-c", file, "-g", globals, "-e", "stderr"], {
    env: path(),
    stdio: ["ignore", "ignore", "pipe"],
  });
  started.add(child);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ended = once(child, "close");
  opening.defer(async () => {
    child.kill("SIGTERM");
    await ended;
    started.delete(child);
  });
  await listening(child, port, () => said);

  const opened = opening.move();
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    passages: (count) =>
      vi.waitFor(() => {
        const lines = readFileSync(join(folder, "access.log"), "utf8").split("\n").slice(0, -1);
        if (lines.length < count) throw new Error(`${lines.length} of ${count} requests are in the access log`);
        return lines.map(toPassage);
      }, PATIENCE),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Fails where a replacement finds nothing: the test would run another file than it says. */
function render({ replicas, replace = {} }: NginxOptions, port: number, folder: string): string {
  const servers = replicas.map((replica) => `server 127.0.0.1:${replica} max_fails=1 fail_timeout=2s;`);
  const changes = {
    "server replica-1:8787 max_fails=1 fail_timeout=2s;": servers.join("\n"),
    "server replica-2:8787 max_fails=1 fail_timeout=2s;": "",
    "listen 8080;": `listen 127.0.0.1:${port};`,
    "/tmp/nginx": join(folder, "run", "nginx"),
    "/dev/stdout": join(folder, "access.log"),
    "worker_processes auto;": "worker_processes 2;",
    // What a process may open here is this machine's business.
    "worker_rlimit_nofile 65536;": "",
    "worker_connections 32768;": "worker_connections 512;",
    ...replace,
  };
  let text = readFileSync(SHIPPED, "utf8");
  for (const [shipped, here] of Object.entries(changes)) {
    if (!text.includes(shipped)) throw new Error(`deploy/nginx.conf holds no ${shipped}`);
    text = text.replaceAll(shipped, here);
  }
  return text.replaceAll("PORT", String(port));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function listening(child: ChildProcess, port: number, said: () => string): Promise<void> {
  const limit = performance.now() + START_LIMIT_MS;
  while (performance.now() < limit && child.exitCode === null) {
    const socket = connect(port, "127.0.0.1");
    const open = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (open) return;
    await wait(20);
  }
  throw new Error(`nginx does not listen on ${port} (exit ${child.exitCode}):\n${said()}`);
}

function toPassage(line: string): Passage {
  const { replica, ...rest } = JSON.parse(line) as Omit<Passage, "replicas"> & { replica: string };
  return { ...rest, replicas: replica === "" ? [] : replica.split(/, | : /) };
}

/** Debian keeps nginx where only root's PATH looks. */
function path(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin:/usr/local/sbin` };
}
