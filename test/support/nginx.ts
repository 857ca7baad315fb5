import { withSystemPath } from "@patchbay/test-support/system-path";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { vi } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { atEnd } from "@patchbay/test-support/clean-up";
import { freePort } from "@patchbay/test-support/free-port";
import { WAIT_MS } from "@patchbay/test-support/patience";

const SHIPPED = new URL("../../deploy/nginx.conf", import.meta.url);
const EVERY = { interval: 20 };

// A test that times out does not reach its end, and must not leave a process behind either.
const started = new Set<ChildProcess>();
atEnd(() => started.forEach((server) => server.kill("SIGTERM")));

/** True if an nginx binary is found. Prints a line otherwise, since its tests are skipped. */
export function hasNginx(): boolean {
  if (spawnSync("nginx", ["-v"], { env: withSystemPath() }).error === undefined) return true;
  console.warn("SKIPPED: no nginx found, so deploy/nginx.conf is not tested (apt-get install nginx-light).");
  return false;
}

export interface NginxOptions {
  /** Ports of the replicas on 127.0.0.1. */
  replicas: readonly number[];
  /** More replacements in the shipped file, from old text to new text. `PORT` is nginx's own port. */
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
  /** The first `count` lines of the access log, which nginx writes after it has sent a response. */
  passages(count: number): Promise<Passage[]>;
}

/** Runs a real nginx with the shipped configuration, with free ports and a temporary folder in place of its own. */
export async function startNginx(options: NginxOptions): Promise<Nginx> {
  await using opening = new AsyncDisposableStack();
  const { path: folder } = opening.use(await temporaryFolder());
  await mkdir(join(folder, "run"));
  const port = await freePort();
  const file = join(folder, "nginx.conf");
  await writeFile(file, render(options, port, folder));

  // A master process of root would run its workers as a user without access to the temporary folder.
  const globals = `daemon off;${process.getuid?.() === 0 ? " user root;" : ""}`;
  const child = spawn("nginx", ["-p", folder, "-c", file, "-g", globals, "-e", "stderr"], {
    env: withSystemPath(),
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
      }, EVERY),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Throws if a text to replace is missing: the test would run another configuration than intended. */
function render({ replicas, replace = {} }: NginxOptions, port: number, folder: string): string {
  const servers = replicas.map((replica) => `server 127.0.0.1:${replica} max_fails=1 fail_timeout=2s;`);
  const changes = {
    "server replica-1:8787 max_fails=1 fail_timeout=2s;": servers.join("\n"),
    "server replica-2:8787 max_fails=1 fail_timeout=2s;": "",
    "listen 8080;": `listen 127.0.0.1:${port};`,
    "/tmp/nginx": join(folder, "run", "nginx"),
    "/dev/stdout": join(folder, "access.log"),
    "worker_processes auto;": "worker_processes 2;",
    // The limit of open files depends on this machine.
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

async function listening(child: ChildProcess, port: number, said: () => string): Promise<void> {
  const limit = performance.now() + WAIT_MS;
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
