import { connect as openSocket } from "node:net";
import type { NatsConnection } from "@nats-io/transport-node";
import type { NatsAddress } from "./nats-address.ts";

/** Several servers get their chance within the time that a start may wait. */
const DIAL_MS = 2_000;

/** Connects to one server, once. Hears nothing that it sends itself; does not come back by itself when it is lost. */
export async function dial(
  address: NatsAddress,
  { inboxPrefix }: { inboxPrefix?: string } = {},
): Promise<NatsConnection> {
  const { host, port, tls, login } = address;
  const [{ connect }] = await Promise.all([import("@nats-io/transport-node"), greeting(address)]);
  return connect({
    servers: host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`,
    ...login,
    ...(tls && { tls: {} }),
    name: "patchbay",
    noEcho: true,
    reconnect: false,
    ignoreClusterUpdates: true,
    timeout: DIAL_MS,
    noAsyncTraces: true,
    ...(inboxPrefix !== undefined && { inboxPrefix }),
  });
}

/** Waits for the first bytes of a server: the client library leaves a socket behind for each attempt at one that is frozen. */
async function greeting({ host, port }: NatsAddress): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = openSocket({ host, port });
  const late = setTimeout(() => reject(new Error(`silent for ${DIAL_MS} ms`)), DIAL_MS);
  socket.once("data", () => resolve());
  socket.once("error", reject);
  socket.once("close", () => reject(new Error("closed without a greeting")));
  await promise.finally(() => {
    clearTimeout(late);
    socket.on("error", () => {});
    socket.destroy();
  });
}
