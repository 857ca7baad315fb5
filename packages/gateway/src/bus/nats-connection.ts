import { clearTimer, randomFraction, setInterval, sleep } from "@patchbay/kit/time";
import { once } from "node:events";
import type { NatsConnection } from "@nats-io/transport-node";
import type { Log } from "@patchbay/kit";
import { connectToServer, formatAddress, type NatsAddress } from "./nats-server.ts";

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;
const FLUSH_MS = 1_000;
const MAX_MISSED_PINGS = 2;
/** After this many unconfirmed bytes the server is asked to confirm them, without waiting for the next ping. */
const PROBE_BYTES = 262_144;
/** Without this cap, bytes that a frozen server does not read would fill the memory until it misses its pings. */
const MAX_UNCONFIRMED_BYTES = 16_777_216;

export interface NatsConnectionOptions {
  addresses: readonly NatsAddress[];
  inboxPrefix: string;
  pingMs: number;
  /** Called with each connection before it counts as live: subscribes on it. */
  attach: (connection: NatsConnection) => void;
  log: Log;
}

/**
 * A connection that is replaced when it is lost, until closed: it connects to the servers in turn. The client library's
 * own reconnect is off: it would buffer what is published in the meantime and send it late.
 */
export function keepConnected(options: NatsConnectionOptions) {
  const { addresses, inboxPrefix, pingMs, attach, log } = options;
  const closing = new AbortController();
  const aborted = once(closing.signal, "abort");
  const first = Promise.withResolvers<void>();
  const status = createStatusLog(addresses.map(formatAddress), log);
  let current: { connection: NatsConnection; health: ReturnType<typeof watchHealth> } | undefined;

  /** Uses a connection until it is lost. */
  async function use(connection: NatsConnection, server: string): Promise<void> {
    using health = watchHealth(connection, pingMs);
    attach(connection);
    // The server has the subscriptions once it confirms the flush. Before, a live connection would miss what others
    // publish.
    await Promise.race([connection.flush().catch(() => {}), connection.closed(), aborted]);
    if (!connection.isClosed() && !closing.signal.aborted) {
      current = { connection, health };
      status.up(server);
      first.resolve();
    }
    if (closing.signal.aborted) await connection.close();
    const cause = await connection.closed();
    current = undefined;
    if (!closing.signal.aborted) status.down(cause);
  }

  async function run(): Promise<void> {
    let longest = FIRST_WAIT_MS;
    for (let attempt = 0; !closing.signal.aborted; attempt++) {
      const address = addresses[attempt % addresses.length] as NatsAddress;
      try {
        await use(await connectToServer(address, { inboxPrefix }), formatAddress(address));
        longest = FIRST_WAIT_MS;
      } catch (error) {
        if (!closing.signal.aborted) status.down(error);
      }
      await sleep(longest * (0.5 + randomFraction() / 2), { signal: closing.signal }).catch(() => {});
      longest = Math.min(longest * 2, LONGEST_WAIT_MS);
    }
  }
  void run();

  return {
    /** The connection; undefined while disconnected, or while too much is unconfirmed. */
    get live(): NatsConnection | undefined {
      return current && !current.connection.isClosed() && !current.health.clogged ? current.connection : undefined;
    },
    /** True once it was connected. */
    get reached(): boolean {
      return status.reached;
    },
    /** Resolves when it is first connected, or closed. */
    firstReached: first.promise,
    /** Counts the bytes that were written to `live`. */
    wrote: (bytes: number): void => current?.health.wrote(bytes),
    /** Flushes, then disconnects. */
    async close(): Promise<void> {
      closing.abort();
      first.resolve();
      const connection = current?.connection;
      if (!connection) return;
      const sent = connection.flush().catch(() => {});
      await Promise.race([sent, connection.closed(), sleep(FLUSH_MS, { ref: false })]);
      await connection.close();
    },
  };
}

export type KeptConnection = ReturnType<typeof keepConnected>;

/** Logs connection changes: one line per outage, not one per attempt. */
function createStatusLog(servers: string[], log: Log) {
  let status: "up" | "down" | undefined;
  let reached = false;
  return {
    get reached(): boolean {
      return reached;
    },
    up(server: string): void {
      if (status !== "up") log.info(reached ? "bus reconnected" : "bus connected", { server });
      status = "up";
      reached = true;
    },
    down(cause: unknown): void {
      if (status === "down") return;
      status = "down";
      const reason = cause instanceof Error ? cause.message : "connection closed";
      log.warn(reached ? "bus disconnected" : "bus unreachable", { servers, reason });
    },
  };
}

/**
 * Closes a connection whose server misses two pings in a row, and counts unconfirmed bytes. (The client library's own
 * ping waits until its last bytes are written, which never happens when the server is frozen.)
 */
function watchHealth(connection: NatsConnection, pingMs: number) {
  let missed = 0;
  let unconfirmedBytes = 0;
  let probing = false;

  async function probe(): Promise<void> {
    if (probing) return;
    const bytes = unconfirmedBytes;
    probing = true;
    await connection.flush();
    probing = false;
    unconfirmedBytes -= bytes;
    missed = 0;
  }

  const timer = setInterval(() => {
    if (missed >= MAX_MISSED_PINGS) return void connection.close();
    missed++;
    probe().catch(() => {});
  }, pingMs);
  return {
    /** True while too much is unconfirmed. */
    get clogged(): boolean {
      return unconfirmedBytes >= MAX_UNCONFIRMED_BYTES;
    },
    wrote(bytes: number): void {
      unconfirmedBytes += bytes;
      if (unconfirmedBytes >= PROBE_BYTES) probe().catch(() => {});
    },
    [Symbol.dispose]: () => clearTimer(timer),
  };
}
