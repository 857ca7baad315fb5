import { type OperatorLimits, MESSAGES } from "@patchbay/protocol";
import type { Access, AccessWatch } from "../ports/access-watch.ts";
import type { Metrics, StreamLimit } from "../ports/metrics.ts";
import { ServiceError } from "../ports/service-error.ts";

/** Who opens a stream, and with what. */
export interface StreamOwner {
  orgId: string;
  keyId: string;
  access: Access;
}

/** One open stream among those that are counted. Disposing gives the place back. */
export interface StreamPlace extends Disposable {
  /** Aborted when what the stream was opened with no longer opens anything. */
  readonly revoked: AbortSignal;
  /** Counts it as a stream of this run, which began after the place was taken. */
  follow(runId: string): void;
}

/** The event streams that this replica has open. */
export interface OpenStreams {
  /**
   * Takes a place. Where a limit is reached it throws `rate_limited`, or with `wait` resolves once a place is free: those who
   * wait get theirs in the order they came. Rejects with the reason of `signal`, and with `authentication_failed` when the
   * access is taken away meanwhile.
   */
  enter(owner: StreamOwner, options: { runId?: string; wait: boolean; signal: AbortSignal }): Promise<StreamPlace>;
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

/** Counts open streams by organisation, API key and run, and holds them to the operator's limits. */
export function createOpenStreams(deps: {
  limits: StreamLimits;
  access: AccessWatch;
  metrics: StreamMetrics;
}): OpenStreams {
  const { limits, access, metrics } = deps;
  const counts = new Map<string, number>();
  const waiters = new Set<Waiter>();

  const countOf = (name: string): number => counts.get(name) ?? 0;

  function add(name: string, change: 1 | -1): void {
    const count = countOf(name) + change;
    if (count === 0) counts.delete(name);
    else counts.set(name, count);
  }

  function reached({ owner, runId }: Wanted): StreamLimit | undefined {
    if (runId !== undefined && countOf(ofRun(owner, runId)) >= limits.streamsPerRun) return "streamsPerRun";
    if (countOf(ofKey(owner)) >= limits.streamsPerKey) return "streamsPerKey";
    return countOf(ofOrg(owner)) >= limits.streamsPerOrganisation ? "streamsPerOrganisation" : undefined;
  }

  function admitWaiters(): void {
    for (const waiter of waiters) if (!reached(waiter)) waiter.admit();
  }

  /** Counts a stream under its names until disposed. */
  function occupy({ owner, runId }: Wanted): Disposable & { follow(runId: string): void } {
    const names = [ofOrg(owner), ofKey(owner)];
    const open = metrics.streamOpened();
    function count(name: string): void {
      names.push(name);
      add(name, 1);
    }
    for (const name of names.splice(0)) count(name);
    if (runId !== undefined) count(ofRun(owner, runId));
    return {
      follow: (followed) => count(ofRun(owner, followed)),
      [Symbol.dispose]() {
        open[Symbol.dispose]();
        for (const name of names.splice(0)) add(name, -1);
        admitWaiters();
      },
    };
  }

  /** Resolves when there is a place, which is occupied by then: nothing may come between. */
  async function waitFor(wanted: Wanted, signal: AbortSignal): Promise<ReturnType<typeof occupy>> {
    const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof occupy>>();
    const leave = () => reject(signal.reason as Error);
    const waiter: Waiter = {
      ...wanted,
      admit() {
        waiters.delete(waiter);
        resolve(occupy(wanted));
      },
    };
    using _waiting = metrics.streamWaiting();
    waiters.add(waiter);
    signal.addEventListener("abort", leave);
    try {
      signal.throwIfAborted();
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
      waiters.delete(waiter);
    }
  }

  return {
    async enter(owner, { runId, wait, signal }) {
      const wanted: Wanted = { owner, runId };
      const limit = reached(wanted);
      if (limit && !wait) {
        metrics.streamRefused(limit);
        throw refused(limit, limits[limit]);
      }
      using entering = new DisposableStack();
      const revoked = new AbortController();
      entering.use(access.hold(owner.access, () => revoked.abort(noAccess())));
      const place = limit ? await waitFor(wanted, AbortSignal.any([signal, revoked.signal])) : occupy(wanted);
      entering.use(place);
      const entered = entering.move();
      return { revoked: revoked.signal, follow: place.follow, [Symbol.dispose]: () => entered.dispose() };
    },
  };
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

function noAccess(): ServiceError {
  return new ServiceError("authentication_failed", MESSAGES.authentication_failed);
}
