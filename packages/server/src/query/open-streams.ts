import type { OperatorLimits } from "@patchbay/protocol";
import type { Access, AccessWatch } from "@patchbay/engine/ports/access-watch";
import { createCounts } from "@patchbay/engine/ports/by-key";
import type { Metrics, StreamLimit } from "@patchbay/engine/ports/metrics";
import { ServiceError, standardError } from "@patchbay/engine/ports/service-error";
import { untilAborted } from "@patchbay/engine/ports/until-aborted";

/** The opener of a stream, with its key or session. */
export interface StreamOwner {
  orgId: string;
  keyId: string;
  access: Access;
}

/** A long request's access, until disposed. */
export interface HeldAccess extends Disposable {
  /** Aborted when the request's key, token or session ends. */
  readonly revoked: AbortSignal;
}

/** One stream's slot among the open streams. Disposing frees it. */
export interface StreamSlot extends HeldAccess {
  /** Also counts the slot as a stream of this run, which started after the slot was occupied. */
  follow(runId: string): void;
}

type StreamLimits = Pick<OperatorLimits, "streamsPerKey" | "streamsPerRun" | "streamsPerOrganisation">;
type StreamMetrics = Pick<Metrics, "streamOpened" | "streamRefused" | "streamWaiting">;

interface Wanted {
  owner: StreamOwner;
  runId: string | undefined;
}

interface Waiter extends Wanted {
  admit(): void;
}

interface EnterOptions {
  runId?: string;
  wait: boolean;
  signal: AbortSignal;
}

/** Counts open streams by organisation, API key and run, and enforces the operator's limits. */
export function createOpenStreams(deps: { limits: StreamLimits; access: AccessWatch; metrics: StreamMetrics }) {
  const { limits, access, metrics } = deps;
  const slots = createSlots(limits, metrics);
  const watch = (owner: Pick<StreamOwner, "access">): HeldAccess => {
    const revoked = new AbortController();
    const held = access.hold(owner.access, () => revoked.abort(standardError("authentication_failed")));
    return { revoked: revoked.signal, [Symbol.dispose]: () => held[Symbol.dispose]() };
  };
  return {
    /** Watches the access of a response that is not a stream. */
    watch,
    /**
     * Occupies a slot. At a limit it throws `rate_limited`, or with `wait` resolves once a slot is free; waiting
     * streams get slots in their arrival order. Rejects with the signal's reason, and with `authentication_failed` when
     * the access ends during the wait.
     */
    async enter(owner: StreamOwner, { runId, wait, signal }: EnterOptions): Promise<StreamSlot> {
      const wanted: Wanted = { owner, runId };
      const limit = slots.limitReached(wanted);
      if (limit && !wait) {
        metrics.streamRefused(limit);
        throw refused(limit, limits[limit]);
      }
      using entering = new DisposableStack();
      const { revoked } = entering.use(watch(owner));
      const slot = limit ? await slots.waitFor(wanted, AbortSignal.any([signal, revoked])) : slots.occupy(wanted);
      entering.use(slot);
      const entered = entering.move();
      return { revoked, follow: slot.follow, [Symbol.dispose]: () => entered.dispose() };
    },
  };
}

export type OpenStreams = ReturnType<typeof createOpenStreams>;

function createSlots(limits: StreamLimits, metrics: StreamMetrics) {
  const counts = createCounts();
  const waiters = new Set<Waiter>();

  function limitReached({ owner, runId }: Wanted): StreamLimit | undefined {
    const { streamsPerRun, streamsPerKey, streamsPerOrganisation } = limits;
    if (runId !== undefined && counts.of(ofRun(owner, runId)) >= streamsPerRun) return "streamsPerRun";
    if (counts.of(ofKey(owner)) >= streamsPerKey) return "streamsPerKey";
    return counts.of(ofOrg(owner)) >= streamsPerOrganisation ? "streamsPerOrganisation" : undefined;
  }

  /** Counts a stream until disposed. */
  function occupy({ owner, runId }: Wanted): Disposable & Pick<StreamSlot, "follow"> {
    const open = metrics.streamOpened();
    const names: string[] = [];
    const count = (name: string): void => {
      names.push(name);
      counts.add(name, 1);
    };
    count(ofOrg(owner));
    count(ofKey(owner));
    if (runId !== undefined) count(ofRun(owner, runId));
    return {
      follow: (followed) => count(ofRun(owner, followed)),
      [Symbol.dispose]() {
        open[Symbol.dispose]();
        for (const name of names.splice(0)) counts.add(name, -1);
        for (const waiter of waiters) if (!limitReached(waiter)) waiter.admit();
      },
    };
  }

  /**
   * Resolves with a slot, which is occupied as soon as it becomes free: another stream could otherwise get it before
   * the promise resolves.
   */
  async function waitFor(wanted: Wanted, signal: AbortSignal): Promise<ReturnType<typeof occupy>> {
    const { promise, resolve } = Promise.withResolvers<ReturnType<typeof occupy>>();
    const waiter: Waiter = {
      ...wanted,
      admit() {
        waiters.delete(waiter);
        resolve(occupy(wanted));
      },
    };
    using _waiting = metrics.streamWaiting();
    waiters.add(waiter);
    try {
      return await untilAborted(promise, signal);
    } finally {
      waiters.delete(waiter);
    }
  }

  return { limitReached, occupy, waitFor };
}

const ofOrg = ({ orgId }: StreamOwner): string => `organisation ${orgId}`;
const ofKey = ({ keyId }: StreamOwner): string => `key ${keyId}`;
const ofRun = ({ keyId }: StreamOwner, runId: string): string => `run ${keyId} ${runId}`;

const OPEN_OF: Record<StreamLimit, (count: number) => string> = {
  streamsPerKey: (count) => `This key has ${count} event streams open`,
  streamsPerRun: (count) => `This key has ${count} event streams of this run open`,
  streamsPerOrganisation: (count) => `The organisation has ${count} event streams open`,
};

function refused(limit: StreamLimit, count: number): ServiceError {
  return new ServiceError("rate_limited", `${OPEN_OF[limit](count)}, which is the limit. Close some, then try again.`);
}
