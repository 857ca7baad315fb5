import type { FunctionManifest } from "@patchbay/protocol";
import type { Bus } from "../../ports/bus.ts";
import type { Clock } from "../../ports/clock.ts";
import { type Delivery, RunMoved } from "../../ports/function-gateway.ts";
import type { Log } from "@patchbay/kit";
import { setTimeout } from "@patchbay/kit/time";
import type { PermitId, PermitStore } from "../../ports/store/permit-store.ts";
import { type CallRecord, type RunRecord, startedBefore } from "../../ports/records.ts";
import { untilAborted } from "../../ports/until-aborted.ts";

/** How often a waiting call asks the store, because a message over the bus may be lost, and a process may have died. */
const POLL_MS = 1_000;
/** How long a waiting call's place in the queue outlasts its process. */
const WAIT_MS = 5_000;
const RENEW_MS = 5_000;
/**
 * How much longer a permit lasts than the handler's time limit: its frame may wait for a connection, and the handler
 * for its abort.
 */
const GRACE_MS = 15_000;

/** Repeats the work while the store is unavailable. */
type Retry = <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** Limits how many of a function's handlers run at the same time, over all replicas and runtimes. */
export function createPermits(
  store: PermitStore,
  { bus, clock, log, retry }: { bus: Bus; clock: Clock; log: Log; retry: Retry },
) {
  /** The last waiter in each function's queue in this process. Only the first is in the store's queue. */
  const queues = new Map<string, Promise<void>>();
  const owned = ownedPermits();

  async function inTurn(key: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const before = queues.get(key) ?? Promise.resolve();
    const turn = Promise.withResolvers<void>();
    const end = Promise.all([before, turn.promise]).then(() => {
      if (queues.get(key) === end) queues.delete(key);
    });
    queues.set(key, end);
    try {
      await untilAborted(before, signal);
      await work();
    } finally {
      turn.resolve();
    }
  }

  /** Resolves when one of the agent's permits is released, or it is time to ask the store. */
  async function released(agentId: string, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    using _ = bus.subscribe(subjectOf(agentId), () => woken.abort());
    await clock
      .sleep(POLL_MS, { signal: AbortSignal.any([signal, woken.signal]) })
      .catch(() => signal.throwIfAborted());
  }

  /** A permit, which is extended until it ends. */
  function granted(permit: PermitId, holdMs: number) {
    const ended = new AbortController();
    const disown = owned.add(permit);
    const attempt = (what: string, work: Promise<void>) =>
      work.catch((error: unknown) => log.warn(`a permit could not be ${what}`, { ...permit, error }));
    void (async () => {
      for (;;) {
        await clock.sleep(RENEW_MS, { signal: ended.signal });
        await attempt("extended", store.hold(permit, holdMs));
      }
    })().catch(() => {});
    return {
      /** `mayRun`: the handler may still run, so that the permit lasts until its time is over. */
      async end({ mayRun }: { mayRun: boolean }): Promise<void> {
        ended.abort();
        if (mayRun) {
          setTimeout(disown, holdMs).unref();
          return attempt("extended", store.hold(permit, holdMs));
        }
        disown();
        await attempt("released", store.release(permit));
        bus.publish(subjectOf(permit.agentId), permit.functionName);
      },
      /** Hands the permit to the replica that continues the run. */
      leave(): void {
        ended.abort();
        disown();
      },
    };
  }

  return {
    /**
     * Waits for the function's permit, in order. Without a `limit` it takes the permit at once: the call may already
     * run. Rejects with `signal.reason`.
     */
    async take(
      permit: PermitId & { orgId: string },
      { limit, timeoutMs, signal }: { limit: number | undefined; timeoutMs: number; signal: AbortSignal },
    ) {
      const holdMs = timeoutMs + GRACE_MS;
      const options = { limit: limit ?? Number.MAX_SAFE_INTEGER, holdMs, waitMs: WAIT_MS };
      const { orgId: _, ...id } = permit;
      const acquire = () => retry(() => store.acquire(permit, { ...options, held: owned.calls(permit) }), signal);
      if (limit === undefined) await acquire();
      else
        await inTurn(keyOf(permit), signal, async () => {
          try {
            while (!(await acquire())) await released(permit.agentId, signal);
          } catch (error) {
            if (!(signal.reason instanceof RunMoved)) await store.release(id).catch(() => {});
            throw error;
          }
        });
      return granted(id, holdMs);
    },
  };
}

/** The permits of this process, with those of handlers that may still run. */
function ownedPermits() {
  const byFunction = new Map<string, Set<PermitId>>();
  return {
    /** Returns what removes it. */
    add(permit: PermitId) {
      const key = keyOf(permit);
      const all = byFunction.get(key) ?? new Set();
      byFunction.set(key, all.add(permit));
      return (): void => {
        all.delete(permit);
        if (all.size === 0 && byFunction.get(key) === all) byFunction.delete(key);
      };
    },
    /** The calls that have a permit of the function. */
    calls: (permit: PermitId) => [...(byFunction.get(keyOf(permit)) ?? [])].map(({ callId }) => callId),
  };
}

export type Permits = ReturnType<typeof createPermits>;

const keyOf = ({ agentId, functionName }: PermitId): string => `${agentId} ${functionName}`;
const subjectOf = (agentId: string): string => `permits.${agentId}`;

/**
 * Delivers one call's attempts, each while it has a permit. For a function without `concurrency`, costs nothing.
 * Disposed when the run no longer waits for the call.
 */
export function permittedCall(
  { orgId, agentId }: Pick<RunRecord, "orgId" | "agentId">,
  call: CallRecord,
  { permits, signal, manifest }: { permits: Permits; signal: AbortSignal; manifest: FunctionManifest },
) {
  const { concurrency: limit, timeoutMs } = manifest;
  let permit: Awaited<ReturnType<Permits["take"]>> | undefined;
  /** The runtime is asked about the call, which may run although no send was stored. */
  let isRecovery = false;
  const take = (recover: boolean) => {
    const { functionName, callId } = call;
    const id = { orgId, agentId, functionName, callId, start: startedBefore(call).length + 1 };
    return permits.take(id, { limit: recover ? undefined : limit, timeoutMs, signal });
  };
  return {
    async deliver(work: () => Promise<Delivery>, { recover }: { recover: boolean }): Promise<Delivery> {
      if (limit === undefined) return work();
      permit ??= await take((isRecovery = recover));
      const delivery = await work();
      const undelivered = delivery.kind === "undelivered";
      // Kept over offers that no runtime accepts, or the call would lose its place. One that was taken out of turn is
      // not.
      if (undelivered && !recover) return delivery;
      await permit.end({ mayRun: mayRun(delivery, manifest) });
      permit = undefined;
      return delivery;
    },
    async [Symbol.asyncDispose]() {
      if (signal.reason instanceof RunMoved) permit?.leave();
      else await permit?.end({ mayRun: isRecovery || call.sentAt !== undefined });
    },
  };
}

/** True if the handler may still run: its runtime did not answer, or says so. */
function mayRun(delivery: Delivery, { detached = false }: FunctionManifest): boolean {
  // A detached handler whose runtime is gone would otherwise keep its permit for days.
  if (delivery.kind === "unknown") return !detached;
  if (delivery.kind !== "outcome") return delivery.kind === "running";
  const { outcome, unanswered } = delivery;
  return unanswered === true || (!outcome.ok && (outcome.stillRuns === true || outcome.code === "outcome_unknown"));
}
