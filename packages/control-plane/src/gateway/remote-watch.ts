import type { Bus } from "../ports/bus.ts";
import type { Log } from "../ports/log.ts";
import type { CallStore } from "../ports/run-store.ts";
import type { Directory } from "./directory.ts";
import type { LineCall } from "./line.ts";
import type { PendingCall } from "./pending-call.ts";
import type { RemoteLine } from "./remote-line.ts";

/** While the bus brings nothing, only the store tells of results. */
const CUT_OFF_SHARE = 4;

/**
 * Looks after calls that wait at other replicas, and those whose runtime is gone: asks the holders what they hold and the store
 * what arrived, so that nothing depends on a message that may be lost. Does nothing while there are none.
 */
export function watchRemoteCalls(options: {
  everyMs: number;
  bus: Bus;
  calls: CallStore;
  directory: Directory;
  busy: ReadonlySet<RemoteLine>;
  lost: ReadonlySet<PendingCall>;
  pending(callId: string): PendingCall | undefined;
  /** A lost call may have a line now. */
  seek(call: PendingCall): void;
  log: Log;
}): Disposable {
  const { everyMs, bus, calls, directory, busy, lost, pending, seek, log } = options;
  let ticks = 0;
  let checking = false;

  async function fetchArrivals(waiting: readonly LineCall[]): Promise<void> {
    if (waiting.length === 0) return;
    const found = await calls.arrivals(waiting.map(({ order }) => order.callId));
    for (const { callId, outcome } of found) pending(callId)?.settle({ kind: "outcome", outcome });
  }

  /** What no holder has any more has arrived, or is lost. */
  async function check(): Promise<void> {
    const missing = (await Promise.all([...busy].map((line) => line.check()))).flat();
    await fetchArrivals([...missing, ...lost]).catch((error: unknown) =>
      log.debug("what arrived at other replicas could not be read", { error }),
    );
    for (const call of missing) if (!call.ended) call.lose();
    const agents = new Set([...lost].map(({ order }) => order.agentId));
    await Promise.all([...agents].map((agentId) => directory.refresh(agentId)));
    for (const call of lost) seek(call);
  }

  async function tick(): Promise<void> {
    if (bus.healthy) return check();
    await fetchArrivals([...[...busy].flatMap((line) => line.calls), ...lost]);
  }

  const timer = setInterval(() => {
    if (checking || (bus.healthy && ++ticks % CUT_OFF_SHARE !== 0)) return;
    if (busy.size === 0 && lost.size === 0) return;
    checking = true;
    tick()
      .catch((error: unknown) => log.debug("calls at other replicas could not be checked", { error }))
      .finally(() => (checking = false));
  }, everyMs / CUT_OFF_SHARE);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
