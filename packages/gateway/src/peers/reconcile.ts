import { clearTimer, setInterval } from "@patchbay/kit/time";
import type { JsonValue } from "@patchbay/kit";
import type { CallTracker } from "../calls/call-tracker.ts";
import type { PendingCall } from "../calls/pending-call.ts";
import type { ChannelCall } from "../channel.ts";
import type { GatewayContext } from "../context.ts";
import type { Directory } from "./directory.ts";
import { HostUpdate, replicaSubject } from "./messages.ts";
import type { RemoteChannel } from "./remote-channel.ts";

/** While the bus is disconnected, results are found only in the store, which is then read this many times as often. */
const DISCONNECTED_FACTOR = 4;

type ReceiveOptions = Pick<GatewayContext, "bus" | "replicaId"> & { tracker: CallTracker };

/**
 * Applies updates from hosts to this replica's calls. They may be late, repeated or lost; `reconcileCalls` finds the
 * rest.
 */
export function receiveHostUpdates({ bus, replicaId, tracker }: ReceiveOptions): Disposable {
  async function readOutcome(call: PendingCall): Promise<void> {
    const stored = await tracker.storedOutcome(call.callId);
    if (stored) call.stored(stored);
  }

  function apply(call: PendingCall, update: HostUpdate): void {
    if (update.type === "progress") return call.progress(update.data);
    if (update.type === "answered") return void tracker.result(update, update, update.sentAt);
    if (update.type === "stored") {
      if (update.outcome) call.stored({ outcome: update.outcome, attempt: update.attempt });
      else void readOutcome(call);
      return;
    }
    if (update.attempt !== call.order.attempt) return;
    if (update.type === "sent") call.sentByHost(update.sentAt);
    else if (update.type === "state") call.stateReported(update.attempt, update.state);
    else if (update.never) call.notSent();
    else if (call.isElsewhere) call.detach();
  }

  return bus.subscribe(replicaSubject(replicaId), (body: JsonValue) => {
    const update = HostUpdate.safeParse(body);
    const call = update.success ? tracker.find(update.data.callId) : undefined;
    if (update.success && call) apply(call, update.data);
  });
}

interface ReconcileOptions extends Pick<GatewayContext, "bus" | "calls" | "log"> {
  everyMs: number;
  directory: Directory;
  busy: ReadonlySet<RemoteChannel>;
  tracker: CallTracker;
}

/**
 * Regularly compares this replica's calls at other replicas, and those without a channel, with the hosts and the store.
 * No call depends on a message that may be lost: after a bus outage, this is how the replica catches up. Does nothing
 * while there are no such calls.
 */
export function reconcileCalls({ everyMs, bus, calls, directory, busy, tracker, log }: ReconcileOptions): Disposable {
  const { detached } = tracker;
  let ticks = 0;
  let checking = false;

  async function settleStored(waiting: readonly ChannelCall[]): Promise<void> {
    if (waiting.length === 0) return;
    const found = await calls.arrivals(waiting.map(({ order }) => order.callId));
    for (const one of found) tracker.find(one.callId)?.stored(one);
  }

  async function reconcile(): Promise<void> {
    const missing = (await Promise.all([...busy].map((channel) => channel.check()))).flat();
    // A host forgets a call once its outcome is stored, and so does the runtime when it gets the acknowledgement. The
    // store is read first, because a query to that runtime would find nothing.
    await settleStored([...missing, ...detached]).catch((error: unknown) =>
      log.debug("stored outcomes could not be read", { error }),
    );
    for (const call of missing) if (!call.ended) call.detach("gone");
    const agents = new Set([...detached].map(({ order }) => order.agentId));
    await Promise.all([...agents].map((agentId) => directory.refresh(agentId)));
    for (const call of detached) tracker.reattach(call);
  }

  async function tick(): Promise<void> {
    if (bus.healthy) return reconcile();
    await settleStored([...[...busy].flatMap((channel) => channel.calls), ...detached]);
  }

  const timer = setInterval(() => {
    if (checking || (bus.healthy && ++ticks % DISCONNECTED_FACTOR !== 0)) return;
    if (busy.size === 0 && detached.size === 0) return;
    checking = true;
    tick()
      .catch((error: unknown) => log.debug("calls at other replicas could not be checked", { error }))
      .finally(() => (checking = false));
  }, everyMs / DISCONNECTED_FACTOR);
  return { [Symbol.dispose]: () => clearTimer(timer) };
}
