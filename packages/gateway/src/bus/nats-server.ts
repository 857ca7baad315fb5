import { clearTimer, setTimeout } from "@patchbay/kit/time";
import { connect as openSocket } from "node:net";
import type { NatsConnection } from "@nats-io/transport-node";

/** A NATS server's address, with its credentials. */
export interface NatsAddress {
  host: string;
  port: number;
  /** True: only with TLS. False: with TLS where the server offers it. */
  tls: boolean;
  login: { user: string; pass: string } | { token: string } | undefined;
}

const DEFAULT_PORT = 4222;
/** Short, so that a starting process can try several servers while it waits. */
const CONNECT_MS = 2_000;

/**
 * Parses `nats://HOST:PORT` or `tls://HOST:PORT`, several separated by commas, each with its own `USER:PASSWORD@` or
 * `TOKEN@`. Throws TypeError, whose message contains no credentials.
 */
export function parseNatsAddresses(text: string): NatsAddress[] {
  return text.split(",").map((part) => parseAddress(part.trim()));
}

/** The address for logs: without credentials. */
export function formatAddress({ host, port }: NatsAddress): string {
  return `${host}:${port}`;
}

function parseAddress(part: string): NatsAddress {
  const text = part.includes("://") ? part : `nats://${part}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const user = decode(url?.username);
  const pass = decode(url?.password);
  const fits = url && ["nats:", "tls:"].includes(url.protocol) && url.hostname !== "" && /^\/?$/.test(url.pathname);
  if (!fits || user === undefined || pass === undefined) {
    const given = url ? `, got ${url.protocol}//${url.host}${url.pathname}` : "";
    throw new TypeError(
      `A NATS address must be nats://HOST:PORT or tls://HOST:PORT${given}. Put USER:PASSWORD@ or TOKEN@ before the host, separate several addresses by commas, and percent-encode "@", ":", "/", "%" and "," in a password.`,
    );
  }
  const login = pass === "" ? { token: user } : { user, pass };
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    tls: url.protocol === "tls:",
    login: user === "" ? undefined : login,
  };
}

/** Undefined when a "%" is not percent-encoded. */
function decode(text = ""): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Connects to one server once. The connection does not receive its own messages and does not reconnect. */
export async function connectToServer(
  address: NatsAddress,
  { inboxPrefix }: { inboxPrefix?: string } = {},
): Promise<NatsConnection> {
  const { host, port, tls, login } = address;
  const [{ connect }] = await Promise.all([import("@nats-io/transport-node"), firstBytes(address)]);
  return connect({
    servers: host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`,
    ...login,
    ...(tls && { tls: {} }),
    name: "patchbay",
    noEcho: true,
    reconnect: false,
    ignoreClusterUpdates: true,
    timeout: CONNECT_MS,
    noAsyncTraces: true,
    ...(inboxPrefix !== undefined && { inboxPrefix }),
  });
}

/**
 * Waits for the server's first bytes on a separate socket: the client library leaks a socket for each attempt at a
 * frozen server.
 */
async function firstBytes({ host, port }: NatsAddress): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = openSocket({ host, port });
  const late = setTimeout(() => reject(new Error(`silent for ${CONNECT_MS} ms`)), CONNECT_MS);
  socket.once("data", () => resolve());
  socket.once("error", reject);
  socket.once("close", () => reject(new Error("closed before its first message")));
  await promise.finally(() => {
    clearTimer(late);
    socket.on("error", () => {});
    socket.destroy();
  });
}

/** True when a NATS server in `urls` accepts a connection. Tries each once, for at most 2 s. */
export async function reachesNats(urls: string): Promise<boolean> {
  for (const address of parseNatsAddresses(urls)) {
    const connection = await connectToServer(address).catch(() => undefined);
    await connection?.close();
    if (connection) return true;
  }
  return false;
}
