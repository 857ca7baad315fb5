import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type ListenOptions, type Server } from "node:net";

/** Above the ports that `fetch` refuses. */
const FIRST = 20_000;
const EPHEMERAL = "/proc/sys/net/ipv4/ip_local_port_range";
/** The first port that the system gives to outgoing connections, and to servers that listen on port 0. */
const END = Math.max(FIRST + 1_000, firstEphemeral());
const IS_LINUX = process.platform === "linux";

/**
 * A port of the loopback interface on which nothing listens, held for this process until it ends: no other process of these tests gets
 * it, and the system gives it to no other socket, also while the caller's server restarts. Where a server listens on port 0, prefer that.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (END - FIRST));
    const held = await reserve(port);
    if (!held) continue;
    const server = await listening({ port, host: "127.0.0.1" });
    if (!server) {
      held.close();
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}

const given = new Set<number>();

/** Undefined when it is held already. A socket without a file, which ends with its process; elsewhere only this process knows. */
async function reserve(port: number): Promise<{ close(): unknown } | undefined> {
  if (IS_LINUX) return (await listening({ path: `\0patchbay-test-port-${port}` }))?.unref();
  if (given.has(port)) return undefined;
  given.add(port);
  return { close: () => given.delete(port) };
}

async function listening(options: ListenOptions): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy()).listen(options);
  return await once(server, "listening").then(
    () => server,
    () => undefined,
  );
}

/** Systems other than Linux begin at 49,152. */
function firstEphemeral(): number {
  try {
    return Number(readFileSync(EPHEMERAL, "utf8").split(/\s/)[0]);
  } catch {
    return 32_768;
  }
}
