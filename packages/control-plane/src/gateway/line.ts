import type { JsonObject, HookVerdict, PreparedContext } from "@patchbay/protocol";
import type { CallOrder, HookInput } from "../ports/function-gateway.ts";
import type { SetIdentity } from "../ports/stores.ts";
import type { Reservations } from "./reservations.ts";

/** Which link of which runtime. */
export interface LineIdentity {
  /** One link; a newer link of the same runtime has another. */
  connectionId: string;
  agentId: string;
  instanceId: string;
  service: string;
  /** The name of the deployment, where the runtime has one. */
  deployment?: string;
  manifestHash: string;
  /** Calls that the runtime runs side by side. */
  concurrency: number;
}

/** The function set of a line as the store orders it. */
export function setOf({ service, deployment, instanceId, manifestHash }: LineIdentity): SetIdentity {
  return { service, deployment: deployment ?? instanceId, named: deployment !== undefined, manifestHash };
}

export function isSameSet(a: SetIdentity, b: SetIdentity): boolean {
  if (a.service !== b.service || a.manifestHash !== b.manifestHash) return false;
  return a.deployment === b.deployment && a.named === b.named;
}

/** A call frame that waits for a free place on a link. */
export interface Waiting {
  readonly callId: string;
  readonly text: string;
  /** Called when the frame was handed to the runtime; a repetition changes nothing. */
  sent(): void;
}

/** A call that somebody of this process waits for, as a line carries it. */
export interface LineCall extends Waiting {
  readonly order: CallOrder;
  /** True while the runtime's answer to `ask` is waited for. */
  readonly asking: boolean;
  /** Nobody waits for it any more. */
  readonly ended: boolean;
  /** As `sent`, for a frame that another process handed over: `at` a moment of the database's clock, where it is known. */
  sentElsewhere(at: number | undefined): void;
  /** This attempt was not sent and never will be. */
  turnedAway(): void;
  /** The line no longer holds the call. `silent`: whoever held it does not answer, and may hold it yet. */
  lose(options?: { silent: boolean }): void;
}

/** The way to one runtime: its WebSocket, or the replica that has it. */
export interface Line {
  readonly identity: LineIdentity;
  readonly local: boolean;
  /** True while something sent may arrive. */
  readonly open: boolean;
  /** True when it may be given further calls. */
  readonly available: boolean;
  /** False while the runtime's replica cannot be asked, or does not answer: a call would hardly be taken. */
  readonly reachable: boolean;
  /** Places for calls that are on their way to the line. */
  readonly reserved: Reservations;
  /** Calls at the runtime, waiting for it or on their way, by what it runs side by side: below 1 there is a free place. */
  readonly load: number;
  /** When a call was last assigned to it, to take turns among equals. */
  turn: number;
  /** False when too many calls wait there already: the call is not sent. */
  enqueue(call: LineCall): boolean;
  /** Asks the runtime what became of a call, sent over an earlier link or by another process, and counts it as one it holds. */
  ask(call: LineCall): void;
  /** Tells the handler to stop; a call that was not sent is taken back. */
  cancel(call: LineCall, reason: CancelReason): void;
  /** Gives the call's place to the next one, whether it was sent or still waited. */
  release(call: LineCall): void;
  /** Undefined when the runtime was lost before it answered, or `signal` ended first. */
  prepare(input: PrepareInput, signal: AbortSignal): Promise<PreparedContext | undefined>;
  /** As `prepare`. */
  runHook(input: HookInput, signal: AbortSignal): Promise<HookVerdict | undefined>;
}

/** A runtime ends a hook that is late by itself, and says so: its answer is waited for this long. */
export const HOOK_GRACE_MS = 1_000;

export type CancelReason = "timed_out" | "cancelled";

export interface PrepareInput {
  role?: string;
  context: JsonObject;
}
