import type { NatsConnection } from "@nats-io/transport-node";

const MAX_MISSED = 2;
/** So much goes out before the server is asked whether it has arrived. */
const PROBE_BYTES = 262_144;
/** A server that takes nothing must not fill the memory until its silence is noticed. */
const MAX_ON_THE_WAY_BYTES = 16_777_216;

export interface Pulse extends Disposable {
  /** True while more is on the way than may be. */
  readonly clogged: boolean;
  wrote(bytes: number): void;
}

/**
 * Closes a connection whose server leaves two pings, `pingMs` apart, without an answer, and counts what the server has not
 * taken yet. (The client library's own watch waits for its last bytes to be written, which a frozen server never lets happen.)
 */
export function watchPulse(connection: NatsConnection, pingMs: number): Pulse {
  let missed = 0;
  let onTheWay = 0;
  let probing = false;

  async function probe(): Promise<void> {
    const asked = onTheWay;
    probing = true;
    await connection.flush();
    probing = false;
    onTheWay -= asked;
    missed = 0;
  }

  const timer = setInterval(() => {
    if (missed >= MAX_MISSED) return void connection.close();
    missed++;
    if (!probing) probe().catch(() => {});
  }, pingMs);
  return {
    get clogged() {
      return onTheWay >= MAX_ON_THE_WAY_BYTES;
    },
    wrote(bytes) {
      onTheWay += bytes;
      if (onTheWay >= PROBE_BYTES && !probing) probe().catch(() => {});
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
