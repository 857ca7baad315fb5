import { setTimeout as sleep } from "node:timers/promises";
import type { CallOutcome, RuntimeFrame } from "@patchbay/protocol";
import type { Clock } from "../ports/clock.ts";
import type { CallOrder, Delivery, DeliveryOptions, FunctionGateway } from "../ports/function-gateway.ts";
import type { CallStore } from "../ports/run-store.ts";
import type { Directory } from "./directory.ts";
import { callFrame, encodePlaneFrame } from "./frames.ts";
import type { Line } from "./line.ts";
import type { Link } from "./link.ts";
import { PendingCall, type PendingCallTimes } from "./pending-call.ts";

/** A store that does not answer must not keep a call from being asked for. */
const ARRIVALS_MS = 1_000;
const ARRIVALS_RETRY_MS = 200;

type Frame<Type extends RuntimeFrame["type"]> = Extract<RuntimeFrame, { type: Type }>;

/** Brings calls to runtimes and what the runtimes say of them to whoever waits. */
export interface Deliveries extends Pick<FunctionGateway, "deliver" | "recover"> {
  /** Takes a runtime's answer to an attempt that this process perhaps sent for another one; false when nobody here waits for it. */
  result(link: Link, frame: Frame<"result">, sentAt: number | undefined): boolean;
  state(link: Link, frame: Frame<"callState">): void;
  progress(link: Link, frame: Frame<"progress">): void;
  /** A runtime's line is another one from now on. */
  lineOpened(line: Line): void;
  /** The link is no longer used: what it held is lost for now, what waited for it was not delivered. */
  linkClosed(link: Link): void;
  /** What still waits for the link can go elsewhere. */
  linkDraining(link: Link): void;
  pending(callId: string): PendingCall | undefined;
  /** Calls that have no line at present. */
  readonly lost: ReadonlySet<PendingCall>;
  /** Asks the runtime of a lost call for it, where it has a line. */
  seek(call: PendingCall): void;
  /** What the store has of a call that was answered to another replica. Never rejects, never hangs. */
  arrived(callId: string): Promise<CallOutcome | undefined>;
}

export function createDeliveries(options: {
  directory: () => Directory;
  calls: CallStore;
  times: PendingCallTimes;
  clock: Pick<Clock, "now">;
  /** Rejects what is waited for: its runs go on elsewhere, and ask again there. */
  closed: AbortSignal;
}): Deliveries {
  const { directory, calls, times, clock, closed } = options;
  const pending = new Map<string, PendingCall>();
  const lost = new Set<PendingCall>();

  /** Waits for one call; `begin` gives it its first line. */
  function wait(
    order: CallOrder,
    text: string,
    { signal, onProgress, onSent }: DeliveryOptions,
    begin: (call: PendingCall) => void,
  ): Promise<Delivery> {
    const { promise, resolve, reject } = Promise.withResolvers<Delivery>();
    const aborted = (): void => call.abandon(signal.reason);
    const onEnd = (): void => {
      signal.removeEventListener("abort", aborted);
      pending.delete(order.callId);
      lost.delete(call);
    };
    const onLost = (): void => {
      lost.add(call);
      seek(call);
    };
    const call = new PendingCall({
      order,
      text,
      onProgress,
      onSent,
      now: () => clock.now(),
      times,
      arrived: ({ callId }) => arrived(callId, times.reconnectMs),
      onLost,
      onEnd,
      resolve,
      reject,
    });
    pending.get(order.callId)?.fail(new Error("the call is waited for anew"));
    pending.set(order.callId, call);
    signal.addEventListener("abort", aborted);
    begin(call);
    return promise;
  }

  closed.addEventListener("abort", () => {
    for (const call of pending.values()) call.fail(closed.reason);
  });

  function lineOf({ agentId, instanceId }: CallOrder): Line | undefined {
    return directory().find(agentId, instanceId);
  }

  function seek(call: PendingCall): void {
    const line = lost.has(call) ? lineOf(call.order) : undefined;
    if (!line?.open) return;
    lost.delete(call);
    call.ask(line);
  }

  async function arrived(callId: string, patienceMs = ARRIVALS_MS): Promise<CallOutcome | undefined> {
    const done = new AbortController();
    const late = sleep(patienceMs, undefined, { signal: done.signal }).catch(() => undefined);
    try {
      return await Promise.race([firstAnswer(callId, AbortSignal.any([done.signal, closed])), late]);
    } finally {
      done.abort();
    }
  }

  /** Asks a store that is out of reach again and again. */
  async function firstAnswer(callId: string, signal: AbortSignal): Promise<CallOutcome | undefined> {
    while (!signal.aborted) {
      try {
        return (await calls.arrivals([callId]))[0]?.outcome;
      } catch {
        await sleep(ARRIVALS_RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
    return undefined;
  }

  /** The waiting call a frame speaks of; another runtime's frames do not touch it. */
  function callOf({ identity }: Line, callId: string): PendingCall | undefined {
    const call = pending.get(callId);
    return call?.order.agentId === identity.agentId && call.order.instanceId === identity.instanceId ? call : undefined;
  }

  return {
    async deliver(order, options) {
      const check = (): void => {
        options.signal.throwIfAborted();
        closed.throwIfAborted();
      };
      check();
      if (!lineOf(order)) {
        await directory().refresh(order.agentId);
        check();
      }
      const line = lineOf(order);
      line?.reserved.take();
      if (!line?.available) return { kind: "undelivered" };
      const text = encodePlaneFrame(callFrame(order));
      if (text === undefined) return { kind: "outcome", outcome: TOO_LARGE };
      return wait(order, text, options, (call) => call.start(line));
    },

    async recover(order, options) {
      options.signal.throwIfAborted();
      closed.throwIfAborted();
      const [outcome] = await Promise.all([
        arrived(order.callId),
        lineOf(order)?.open || directory().refresh(order.agentId),
      ]);
      if (outcome) return { kind: "outcome", outcome };
      options.signal.throwIfAborted();
      closed.throwIfAborted();
      return wait(order, "", options, (call) => call.lose());
    },

    result(link, { callId, attempt, outcome }, sentAt) {
      const call = callOf(link, callId);
      if (sentAt !== undefined && call?.order.attempt === attempt) call.sentElsewhere(sentAt);
      call?.answer(outcome);
      return call !== undefined;
    },
    state(link, { callId, attempt, state }) {
      callOf(link, callId)?.hear(attempt, state, link.identity.connectionId);
    },
    progress: (link, { callId, data }) => callOf(link, callId)?.onProgress?.(data),

    lineOpened(line) {
      for (const call of lost) if (callOf(line, call.order.callId) === call) seek(call);
    },
    linkClosed(link) {
      for (const call of pending.values()) {
        if (!call.isOn(link.identity.connectionId)) continue;
        call.withdraw();
        if (!call.ended) call.lose();
      }
    },
    linkDraining(link) {
      for (const call of pending.values()) if (call.isOn(link.identity.connectionId)) call.withdraw();
    },
    pending: (callId) => pending.get(callId),
    lost,
    seek,
    arrived,
  };
}

const TOO_LARGE: CallOutcome = {
  ok: false,
  code: "invalid_arguments",
  message: "The arguments are too large to be sent to the function.",
};
