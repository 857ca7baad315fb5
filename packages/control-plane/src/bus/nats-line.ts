import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import type { NatsConnection } from "@nats-io/transport-node";
import type { Log } from "../ports/log.ts";
import { shown, type NatsAddress } from "./nats-address.ts";
import { dial } from "./nats-dial.ts";
import { watchPulse, type Pulse } from "./nats-pulse.ts";

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;
const FLUSH_MS = 1_000;

export interface NatsLineOptions {
  addresses: readonly NatsAddress[];
  inboxPrefix: string;
  pingMs: number;
  /** Given each connection before it counts as live: subscribes what is to be heard on it. */
  attach: (connection: NatsConnection) => void;
  log: Log;
}

/** A connection that is made again for ever: the client library's own way would send late what was published while it was lost. */
export interface NatsLine {
  /** The connection while it carries; undefined while there is none or it takes nothing more. */
  readonly live: NatsConnection | undefined;
  /** True once connected for the first time. */
  readonly reached: boolean;
  /** Resolves when connected for the first time, or closed. */
  readonly firstReached: Promise<void>;
  /** Counts what was given to the live connection. */
  wrote(bytes: number): void;
  /** Sends what is on its way, then disconnects for good. */
  close(): Promise<void>;
}

export function keepNatsLine({ addresses, inboxPrefix, pingMs, attach, log }: NatsLineOptions): NatsLine {
  const closing = new AbortController();
  const aborted = once(closing.signal, "abort");
  const first = Promise.withResolvers<void>();
  const servers = addresses.map(shown);
  let current: { connection: NatsConnection; pulse: Pulse } | undefined;
  let reached = false;
  let told: "up" | "down" | undefined;

  function tellDown(cause: unknown): void {
    if (told === "down" || closing.signal.aborted) return;
    told = "down";
    const reason = cause instanceof Error ? cause.message : "connection closed";
    log.warn(reached ? "bus lost" : "bus not reached", { servers, reason });
  }

  function tellUp(server: string): void {
    if (told === "up") return;
    told = "up";
    log.info(reached ? "bus back" : "bus connected", { server });
  }

  /** Uses a connection until it is lost. */
  async function use(connection: NatsConnection, server: string): Promise<void> {
    using pulse = watchPulse(connection, pingMs);
    attach(connection);
    // Once this has come back, what others send is heard here.
    await Promise.race([connection.flush().catch(() => {}), connection.closed(), aborted]);
    if (!connection.isClosed() && !closing.signal.aborted) {
      current = { connection, pulse };
      tellUp(server);
      reached = true;
      first.resolve();
    }
    if (closing.signal.aborted) await connection.close();
    const cause = await connection.closed();
    current = undefined;
    tellDown(cause);
  }

  async function run(): Promise<void> {
    let longest = FIRST_WAIT_MS;
    for (let attempt = 0; !closing.signal.aborted; attempt++) {
      const address = addresses[attempt % addresses.length] as NatsAddress;
      try {
        await use(await dial(address, { inboxPrefix }), shown(address));
        longest = FIRST_WAIT_MS;
      } catch (error) {
        tellDown(error);
      }
      await wait(longest * (0.5 + Math.random() / 2), undefined, { signal: closing.signal }).catch(() => {});
      longest = Math.min(longest * 2, LONGEST_WAIT_MS);
    }
  }
  void run();

  return {
    get live() {
      return current && !current.connection.isClosed() && !current.pulse.clogged ? current.connection : undefined;
    },
    get reached() {
      return reached;
    },
    firstReached: first.promise,
    wrote: (bytes) => current?.pulse.wrote(bytes),
    async close() {
      closing.abort();
      first.resolve();
      const connection = current?.connection;
      if (!connection) return;
      const sent = connection.flush().catch(() => {});
      await Promise.race([sent, connection.closed(), wait(FLUSH_MS, undefined, { ref: false })]);
      await connection.close();
    },
  };
}
