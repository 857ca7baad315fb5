import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";

/** Above the ports that `fetch` refuses. */
const FIRST = 20_000;
const EPHEMERAL = "/proc/sys/net/ipv4/ip_local_port_range";
/** The first port that the system gives to outgoing connections, and to servers that listen on port 0. */
const END = Math.max(FIRST + 1_000, firstEphemeral());
const given = new Set<number>();

/**
 * A port of the loopback interface on which nothing listens. It stays free until the caller's server listens, and while that server
 * is dead: the system gives it to no other socket.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (END - FIRST));
    if (given.has(port)) continue;
    given.add(port);
    const server = createServer().listen(port, "127.0.0.1");
    const free = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!free) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

/** Systems other than Linux begin at 49,152. */
function firstEphemeral(): number {
  try {
    return Number(readFileSync(EPHEMERAL, "utf8").split(/\s/)[0]);
  } catch {
    return 32_768;
  }
}
