import type { CallOutcome, JsonValue, PlaneFrame, RuntimeFrame } from "@patchbay/protocol";
import { RunMoved, type CallOrder, type Delivery, type FunctionGateway } from "../ports/function-gateway.ts";
import { encodePlaneFrame } from "./frames.ts";
import type { HeldOutcomes } from "./held-outcomes.ts";
import type { Link } from "./link.ts";
import { PendingCall, type PendingCallTimes } from "./pending-call.ts";
import type { Registry } from "./registry.ts";

type Frame<Type extends RuntimeFrame["type"]> = Extract<RuntimeFrame, { type: Type }>;
type WaitOptions = { signal: AbortSignal; onProgress?: (data: JsonValue) => void };

/** Brings calls to runtimes and what the runtimes say of them to whoever waits. */
export interface Deliveries extends Pick<FunctionGateway, "deliver" | "recover"> {
  result(link: Link, frame: Frame<"result">, sizeBytes: number): void;
  state(link: Link, frame: Frame<"callState">): void;
  progress(link: Link, frame: Frame<"progress">): void;
  /** The link is its runtime's current one from now on. */
  linkOpened(link: Link): void;
  /** The link is no longer used: what it held is lost for now, what waited for it was not delivered. */
  linkClosed(link: Link): void;
  /** What still waits for the link can go elsewhere. */
  linkDraining(link: Link): void;
}

export function createDeliveries(options: {
  registry: Registry;
  held: HeldOutcomes;
  times: PendingCallTimes;
  now: () => number;
  /** Rejects what is waited for: its runs go on elsewhere, and ask again there. */
  closed: AbortSignal;
}): Deliveries {
  const { registry, held, times, now, closed } = options;
  const pending = new Map<string, PendingCall>();
  const lost = new Set<PendingCall>();

  /** Waits for one call; `begin` gives it its first link. */
  function wait(
    order: CallOrder,
    text: string,
    { signal, onProgress }: WaitOptions,
    begin: (call: PendingCall) => void,
  ): Promise<Delivery> {
    const { promise, resolve, reject } = Promise.withResolvers<Delivery>();
    const aborted = (): void => {
      call.abandon(signal.reason);
      // The handler may answer yet, and would keep its result for as long as nobody takes it.
      if (!(signal.reason instanceof RunMoved)) held.forget(order);
    };
    const ended = (): void => {
      signal.removeEventListener("abort", aborted);
      pending.delete(order.callId);
      lost.delete(call);
    };
    const call = new PendingCall({ order, text, onProgress, times, ended, resolve, reject });
    pending.get(order.callId)?.fail(new Error("the call is waited for anew"));
    pending.set(order.callId, call);
    signal.addEventListener("abort", aborted);
    begin(call);
    return promise;
  }

  closed.addEventListener("abort", () => {
    for (const call of pending.values()) call.fail(closed.reason);
  });

  /** The waiting call a frame speaks of; another runtime's frames do not touch it. */
  function callOf(link: Link, callId: string): PendingCall | undefined {
    const call = pending.get(callId);
    const { agentId, instanceId } = link.identity;
    return call?.order.agentId === agentId && call.order.instanceId === instanceId ? call : undefined;
  }

  return {
    async deliver(order, options) {
      options.signal.throwIfAborted();
      closed.throwIfAborted();
      const link = registry.find(order.agentId, order.instanceId);
      if (!link?.available) return { kind: "undelivered" };
      const text = encodePlaneFrame(callFrame(order));
      if (text === undefined) return { kind: "outcome", outcome: TOO_LARGE };
      return wait(order, text, options, (call) => call.start(link));
    },

    async recover(order, options) {
      options.signal.throwIfAborted();
      closed.throwIfAborted();
      const outcome = held.take(order);
      if (outcome) return { kind: "outcome", outcome };
      const found = registry.find(order.agentId, order.instanceId);
      const link = found?.open ? found : undefined;
      return wait(order, "", options, (call) => {
        if (!link) lost.add(call);
        call.resume(link);
      });
    },

    result(link, { callId, outcome }, sizeBytes) {
      const call = callOf(link, callId);
      if (call) call.settle({ kind: "outcome", outcome });
      else if (!held.add(link, callId, outcome, sizeBytes)) link.send({ type: "resultAck", callId });
    },
    state: (link, { callId, state }) => callOf(link, callId)?.hear(link, state),
    progress(link, { callId, data }) {
      if (link.takesProgress(now())) callOf(link, callId)?.onProgress?.(data);
    },

    linkOpened(link) {
      for (const call of lost) {
        if (callOf(link, call.order.callId) !== call) continue;
        lost.delete(call);
        call.ask(link);
      }
    },
    linkClosed(link) {
      for (const call of pending.values()) {
        if (!call.isOn(link)) continue;
        call.withdraw();
        if (!pending.has(call.order.callId)) continue;
        lost.add(call);
        call.lose();
      }
    },
    linkDraining(link) {
      for (const call of pending.values()) if (call.isOn(link)) call.withdraw();
    },
  };
}

const TOO_LARGE: CallOutcome = {
  ok: false,
  code: "invalid_arguments",
  message: "The arguments are too large to be sent to the function.",
};

function callFrame(order: CallOrder): PlaneFrame {
  const { callId, attempt, functionName, context, threadId, runId, timeoutMs, role, sessionId } = order;
  return {
    type: "call",
    callId,
    attempt,
    function: functionName,
    arguments: order.arguments,
    context,
    threadId,
    runId,
    timeoutMs: Math.ceil(timeoutMs),
    ...(role !== undefined && { role }),
    ...(sessionId !== undefined && { sessionId }),
  };
}
