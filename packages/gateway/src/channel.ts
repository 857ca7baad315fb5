import { monotonicMs } from "@patchbay/kit/time";
import type { CallToJudge, HookVerdict, PreparedContext } from "@patchbay/protocol";
import type { AttemptAddress, CallOrder, HookInput } from "@patchbay/engine/ports/function-gateway";
import type { Caller } from "@patchbay/engine/ports/callers";
import type { ConnectedRuntime, SetIdentity } from "@patchbay/engine/ports/store/stores";

/** Identifies a runtime's connection, and the function set that the runtime registered on it. */
export type ConnectionIdentity = Omit<ConnectedRuntime, "replicaId" | "draining">;

/** A connection's function set, as the store orders it. An unnamed runtime forms a separate deployment. */
export function setOf({ service, deployment, instanceId, manifestHash }: ConnectionIdentity): SetIdentity {
  return { service, deployment: deployment ?? instanceId, named: deployment !== undefined, manifestHash };
}

export function isSameSet(a: SetIdentity, b: SetIdentity): boolean {
  if (a.service !== b.service || a.manifestHash !== b.manifestHash) return false;
  return a.deployment === b.deployment && a.named === b.named;
}

/** A call frame that waits for a connection's free slot. */
export interface QueuedCall {
  readonly callId: string;
  readonly text: string;
  /** Called when the frame was handed to the runtime; a repeated call has no effect. */
  sent(): void;
}

/** A call that a run on this replica waits for, as its channel sees it. */
export interface ChannelCall extends QueuedCall {
  readonly order: CallOrder;
  /** Milliseconds since this attempt could begin. Undefined for the first attempt. */
  readonly ageMs: number | undefined;
  /** True while the runtime has not answered `queryState`. */
  readonly awaitsState: boolean;
  /** True when no run waits for the call any more. */
  readonly ended: boolean;
  /** As `sent`, for a frame that the host replica sent. `at`: when, by the database's clock, if known. */
  sentByHost(at: number | undefined): void;
  /** This attempt was not sent and never will be. */
  notSent(): void;
  /** The channel no longer carries the call. Default: `closed`. */
  detach(why?: Detachment): void;
}

/**
 * Why a call has no channel: its connection has `closed`, which its runtime knows too; its host is `gone`, which the
 * runtime finds out by the silence; or the host is `silent`, and may still have the call.
 */
export type Detachment = "closed" | "gone" | "silent";

/** A call's newest attempt with a stored result. */
export type StoredAttempt = Pick<AttemptAddress, "callId" | "attempt">;

/** Why a call is cancelled. */
export type CancelReason = "timed_out" | "cancelled";

/** The query that the owner's code prepares, or the call that it decides on. */
export type PrepareInput = Caller & Pick<HookInput, "trace"> & { call?: CallToJudge };

/** A runtime itself reports a hook that exceeds its time; the replica waits this much longer for the report. */
export const HOOK_GRACE_MS = 1_000;

/** Gives access to one runtime: over its connection to this replica, or through the replica that has the connection. */
export interface RuntimeChannel {
  readonly identity: ConnectionIdentity;
  readonly local: boolean;
  /** True while something sent may arrive. */
  readonly open: boolean;
  /** True while the runtime accepts calls: open and not draining. */
  readonly available: boolean;
  /** False while the host replica cannot be asked or does not answer: it would probably not accept a call. */
  readonly reachable: boolean;
  /** Calls that were assigned to the runtime and are not on the channel yet. */
  readonly assigned: AssignedCalls;
  /** Calls assigned to the runtime, queued or running, divided by its concurrency: below 1 it has a free slot. */
  readonly load: number;
  /** Grows with each pick among all channels: among equally loaded ones, the one picked longest ago is next. */
  lastPick: number;
  /** True if the function's calls carry their caller's token here: its set needs it, and no other replica reads it. */
  carriesToken(functionName: string): boolean;
  /** Queues a call. False when the queue is full: the call is not sent. */
  enqueue(call: ChannelCall): boolean;
  /** Asks the runtime about a call that was sent over another connection, and counts it as running here. */
  queryState(call: ChannelCall): void;
  /** Asks the handler to stop; takes the call back if it was not sent. */
  cancel(call: ChannelCall, reason: CancelReason): void;
  /** Asks a handler to stop that this channel does not carry. */
  stop(callId: string): void;
  /** Removes the call, whether queued or running, and frees its slot. */
  release(call: ChannelCall): void;
  /**
   * Confirms that the runtime's answers up to this attempt are stored, a little later, so that several confirmations
   * share a write.
   */
  acknowledge(stored: StoredAttempt): void;
  /** Undefined when the connection closed before the runtime answered, or `signal` aborted. */
  prepare(input: PrepareInput, signal: AbortSignal): Promise<PreparedContext | undefined>;
  /** As `prepare`. */
  runHook(input: HookInput, signal: AbortSignal): Promise<HookVerdict | undefined>;
}

/** A call whose intent could not be stored is never delivered, so its slot is freed after this time. */
const ASSIGNED_MS = 5_000;

/**
 * Counts calls that were assigned to a runtime while their intent is being stored. Otherwise, all calls in a burst
 * would see the load from before the burst and go to the same runtime.
 */
export class AssignedCalls {
  readonly #expiries: number[] = [];

  get count(): number {
    const now = monotonicMs();
    while (this.#expiries[0] !== undefined && this.#expiries[0] <= now) this.#expiries.shift();
    return this.#expiries.length;
  }

  add(): void {
    this.#expiries.push(monotonicMs() + ASSIGNED_MS);
  }

  /** One of the calls is on the channel from now on, which counts it. */
  delivered(): void {
    this.#expiries.shift();
  }
}
