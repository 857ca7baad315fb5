import { sleep } from "@patchbay/kit/time";
import type { CallOutcome } from "@patchbay/protocol";
import type { CallOrder, DeliveryOptions, FunctionGateway } from "@patchbay/engine/ports/function-gateway";
import { callFailure } from "@patchbay/engine/ports/refusal";
import type { ArrivedOutcome } from "@patchbay/engine/ports/store/call-store";
import type { RuntimeChannel } from "../channel.ts";
import type { GatewayContext } from "../context.ts";
import { callFrame, encodeFrame, type FrameOf } from "../frames.ts";
import type { RuntimeConnection } from "../local/runtime-connection.ts";
import type { Directory } from "../peers/directory.ts";
import { isOf, PendingCall, type PendingCallOwner, type PendingCallTimes } from "./pending-call.ts";

/** A hanging store must not prevent asking the runtime about a call. */
const STORED_MS = 1_000;
const STORED_RETRY_MS = 200;

interface CallTrackerDeps extends Pick<GatewayContext, "calls" | "clock"> {
  directory: Directory;
  times: PendingCallTimes;
  /** Rejects every wait: the runs continue on other replicas, which recover the calls. */
  closed: AbortSignal;
}

/**
 * Delivers calls from this replica's runs to runtimes, and settles them with reports from runtimes, hosts and the
 * store.
 */
export class CallTracker {
  readonly #deps: CallTrackerDeps;
  readonly #owner: PendingCallOwner;
  readonly #pending = new Map<string, PendingCall>();
  readonly #detached = new Set<PendingCall>();

  constructor(deps: CallTrackerDeps) {
    const { times, clock, closed } = deps;
    this.#deps = deps;
    this.#owner = {
      times,
      now: () => clock.now(),
      outcomeWithin: (callId, ms) => this.storedOutcome(callId, ms),
      detached: (call) => {
        this.#detached.add(call);
        this.reattach(call);
      },
      ended: (call) => {
        this.#pending.delete(call.callId);
        this.#detached.delete(call);
      },
    };
    closed.addEventListener("abort", () => {
      for (const call of this.#pending.values()) call.fail(closed.reason);
    });
  }

  readonly deliver: FunctionGateway["deliver"] = async (order, options) => {
    this.#check(options);
    if (!this.#channelOf(order)) {
      await this.#deps.directory.refresh(order.agentId);
      this.#check(options);
    }
    const channel = this.#channelOf(order);
    channel?.assigned.delivered();
    if (!channel?.available) return { kind: "undelivered" };
    const { callerToken, ...open } = order;
    const isCarried = callerToken !== undefined && channel.carriesToken(order.functionName);
    const text = encodeFrame(callFrame(isCarried ? order : open));
    if (text === undefined) return { kind: "outcome", outcome: TOO_LARGE };
    const call = this.#track(order, text, options);
    call.start(channel);
    return call.delivery;
  };

  readonly recover: FunctionGateway["recover"] = async (order, options) => {
    this.#check(options);
    const [stored] = await Promise.all([
      this.storedOutcome(order.callId),
      this.#channelOf(order)?.open || this.#deps.directory.refresh(order.agentId),
    ]);
    if (stored && isOf(stored, order)) return { kind: "outcome", outcome: stored.outcome };
    this.#check(options);
    const call = this.#track(order, "", options);
    const channel = this.#channelOf(order);
    call.detach(channel?.local && channel.open ? "closed" : "gone");
    return call.delivery;
  };

  find(callId: string): PendingCall | undefined {
    return this.#pending.get(callId);
  }

  /** Calls without a channel. */
  get detached(): ReadonlySet<PendingCall> {
    return this.#detached;
  }

  /** Asks a detached call's runtime about it, if the runtime has an open channel. */
  reattach(call: PendingCall): void {
    const channel = this.#detached.has(call) ? this.#channelOf(call.order) : undefined;
    if (!channel?.open) return;
    this.#detached.delete(call);
    call.query(channel);
  }

  /** A runtime has a new current channel: asks there about its detached calls. */
  channelOpened(channel: RuntimeChannel): void {
    for (const call of this.#detached) if (isAt(call, channel.identity)) this.reattach(call);
  }

  /** Detaches a closed connection's calls; queued ones were not delivered and can go elsewhere. */
  connectionClosed(connection: RuntimeConnection): void {
    for (const call of this.#callsOn(connection)) {
      call.takeBack();
      if (!call.ended) call.detach();
    }
  }

  /** Takes back a connection's queued calls. */
  connectionDraining(connection: RuntimeConnection): void {
    for (const call of this.#callsOn(connection)) call.takeBack();
  }

  /**
   * Settles the call with the runtime's result. False when no run on this replica waits for it: another replica's may.
   */
  result(
    runtime: Pick<CallOrder, "agentId" | "instanceId">,
    answer: { callId: string; attempt: number; outcome: CallOutcome },
    sentAt: number | undefined,
  ): boolean {
    const call = this.#callAt(runtime, answer.callId);
    if (sentAt !== undefined && call?.order.attempt === answer.attempt) call.sentByHost(sentAt);
    call?.answered(answer.outcome, answer.attempt);
    return call !== undefined;
  }

  /** False when no run on this replica waits for the call, as for `progress`. */
  state(connection: RuntimeConnection, { callId, attempt, state }: FrameOf<"callState">): boolean {
    const call = this.#callAt(connection.identity, callId);
    call?.stateReported(attempt, state, connection.identity.connectionId);
    return call !== undefined;
  }

  progress(connection: RuntimeConnection, { callId, data }: FrameOf<"progress">): boolean {
    const call = this.#callAt(connection.identity, callId);
    call?.progress(data);
    return call !== undefined;
  }

  /**
   * The stored outcome for a call that was answered to another replica. Never rejects; retries an unavailable store
   * within `ms`.
   */
  async storedOutcome(callId: string, ms = STORED_MS): Promise<ArrivedOutcome | undefined> {
    const done = new AbortController();
    const late = sleep(ms, { signal: done.signal }).catch(() => undefined);
    try {
      return await Promise.race([this.#readOutcome(callId, AbortSignal.any([done.signal, this.#deps.closed])), late]);
    } finally {
      done.abort();
    }
  }

  async #readOutcome(callId: string, signal: AbortSignal): Promise<ArrivedOutcome | undefined> {
    while (!signal.aborted) {
      try {
        return (await this.#deps.calls.arrivals([callId]))[0];
      } catch {
        await sleep(STORED_RETRY_MS, { signal }).catch(() => {});
      }
    }
    return undefined;
  }

  #check({ signal }: DeliveryOptions): void {
    signal.throwIfAborted();
    this.#deps.closed.throwIfAborted();
  }

  #track(order: CallOrder, text: string, options: DeliveryOptions): PendingCall {
    const call = new PendingCall(order, text, options, this.#owner);
    this.#pending.get(order.callId)?.fail(new Error("a newer delivery of the same call replaced this one"));
    this.#pending.set(order.callId, call);
    return call;
  }

  #channelOf({ agentId, instanceId }: CallOrder): RuntimeChannel | undefined {
    return this.#deps.directory.find(agentId, instanceId);
  }

  #callsOn({ identity }: RuntimeConnection): PendingCall[] {
    return [...this.#pending.values()].filter((call) => call.isOn(identity.connectionId));
  }

  /** The pending call that a frame names, if this runtime received it: a runtime cannot answer another's calls. */
  #callAt(runtime: Pick<CallOrder, "agentId" | "instanceId">, callId: string): PendingCall | undefined {
    const call = this.#pending.get(callId);
    return call && isAt(call, runtime) ? call : undefined;
  }
}

function isAt({ order }: PendingCall, runtime: Pick<CallOrder, "agentId" | "instanceId">): boolean {
  return order.agentId === runtime.agentId && order.instanceId === runtime.instanceId;
}

const TOO_LARGE = callFailure("invalid_arguments", "The arguments are too large to be sent to the function.");
