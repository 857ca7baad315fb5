import type { JsonValue, RuntimeFrame } from "@patchbay/protocol";
import type { Bus } from "../ports/bus.ts";
import type { Clock } from "../ports/clock.ts";
import type { CallStore } from "../ports/run-store.ts";
import type { Store } from "../ports/stores.ts";
import { callFrame, encodePlaneFrame } from "./frames.ts";
import { HeldCall } from "./held-call.ts";
import { HOOK_GRACE_MS } from "./line.ts";
import type { Link } from "./link.ts";
import {
  type AskedReply,
  type HeldReply,
  type HolderNews,
  HolderRequest,
  replicaSubject,
  runtimeSubject,
  type TakenReply,
} from "./messages.ts";

type Frame<Type extends RuntimeFrame["type"]> = Extract<RuntimeFrame, { type: Type }>;
type Request<Type extends HolderRequest["type"]> = Extract<HolderRequest, { type: Type }>;

/** Serves the links of this replica to runs that other replicas work on. */
export interface Holder {
  /** The link is its runtime's current one from now on. */
  open(link: Link): void;
  /** The link is no longer used: whoever has calls on it is told. */
  close(link: Link): void;
  /** What still waits for the link goes back. */
  drain(link: Link): void;
  /** The call has ended at its runtime. Says when this attempt was sent to it, where that was done here. */
  ended(link: Link, result: Frame<"result">): number | undefined;
  state(link: Link, frame: Frame<"callState">): void;
  progress(link: Link, frame: Frame<"progress">): void;
  /** Gives up calls whose time is long over, and waiting ones that nobody asks about any more. */
  tidy(): void;
}

interface Held {
  serving: Disposable;
  calls: Map<string, HeldCall>;
}

export function createHolder(options: {
  bus: Bus;
  calls: CallStore;
  within: Store["within"];
  replicaId: string;
  clock: Pick<Clock, "now">;
  /** How long past its time a call counts as one that its runtime holds. */
  graceMs: number;
  /** A waiting call is given up when its owner has not asked about it for so long. */
  forgottenMs: number;
  /** True while the runtime's answer to the call is being stored. */
  storing(link: Link, callId: string): boolean;
}): Holder {
  const { bus, calls, within, replicaId, clock, graceMs, forgottenMs, storing } = options;
  const links = new Map<Link, Held>();

  const tell = (call: HeldCall, news: HolderNews): void => bus.publish(replicaSubject(call.replyTo), news as JsonValue);

  function hold(link: Link, { callId, attempt, timeoutMs, replyTo }: Request<"call" | "ask">): HeldCall {
    const call: HeldCall = new HeldCall({
      callId,
      attempt,
      endsInMs: timeoutMs + graceMs,
      replyTo,
      now: () => clock.now(),
      waited: () => tell(call, { type: "sent", callId, attempt, ...sentAtOf(call) }),
    });
    links.get(link)?.calls.set(callId, call);
    return call;
  }

  function letGo(link: Link, call: HeldCall): void {
    link.release(call);
    const held = links.get(link)?.calls;
    if (held?.get(call.callId) === call) held.delete(call.callId);
  }

  function giveBack(link: Link, call: HeldCall): void {
    const never = call.phase === "waiting";
    letGo(link, call);
    if (call.phase === "taking") call.phase = "dropped";
    else tell(call, { type: "lost", ...call.name, never });
  }

  /** One attempt asked for twice is taken once, and both are told the same. */
  function take(link: Link, request: Request<"call">): Promise<TakenReply> {
    const known = links.get(link)?.calls.get(request.callId);
    if (known?.taken && known.attempt === request.attempt) return known.taken;
    if (known && known.attempt >= request.attempt) return Promise.resolve(REFUSED);
    if (known) drop(link, known);
    if (!link.available || !link.hasRoom) return Promise.resolve(REFUSED);
    const call = hold(link, request);
    return (call.taken = accept(link, call, request));
  }

  async function accept(link: Link, call: HeldCall, request: Request<"call">): Promise<TakenReply> {
    try {
      const { callId, attempt, fence, timeoutMs } = request;
      const { orgId } = link.identity;
      const order = await within(orgId, () => calls.accept({ callId, attempt, fence, replicaId }));
      if (!order) {
        letGo(link, call);
        return REFUSED;
      }
      const { agentId, instanceId } = link.identity;
      const ours = order.agentId === agentId && order.instanceId === instanceId;
      const text = ours ? encodePlaneFrame(callFrame({ ...order, timeoutMs })) : undefined;
      if (text !== undefined && link.available && call.enter(link, text))
        return { taken: true, sent: call.isSent, ...sentAtOf(call) };
      letGo(link, call);
      return { taken: false, never: true };
    } catch (error) {
      letGo(link, call);
      throw error;
    }
  }

  function ask(link: Link, request: Request<"ask">): AskedReply {
    const { callId, attempt } = request;
    const known = links.get(link)?.calls.get(callId);
    if (!link.open || (known && known.attempt > attempt)) return { asked: false };
    if (known?.phase === "sent" && known.attempt === attempt) known.replyTo = request.replyTo;
    else {
      // What was not sent must not be: the runtime will say that it never saw this attempt, and then refuses it.
      if (known) drop(link, known);
      const call = hold(link, request);
      call.phase = "sent";
      link.adopt(call);
    }
    link.askAbout(callId, attempt);
    return { asked: true };
  }

  function drop(link: Link, call: HeldCall): void {
    call.phase = "dropped";
    letGo(link, call);
  }

  function cancel(link: Link, { callId, attempt, reason }: Request<"cancel">): void {
    const call = links.get(link)?.calls.get(callId);
    if (!call || call.attempt !== attempt) return;
    if (call.phase !== "sent") return drop(link, call);
    link.send({ type: "cancel", callId, reason });
    if (reason === "cancelled") letGo(link, call);
  }

  function report(link: Link, request: Request<"held">): HeldReply {
    const reply: HeldReply = { waiting: [], running: [] };
    for (const { callId, attempt } of request.calls) {
      const call = links.get(link)?.calls.get(callId);
      if (call?.attempt === attempt) {
        call.asked(request.replyTo);
        reply[call.phase === "sent" ? "running" : "waiting"].push(callId);
      } else if (storing(link, callId)) reply.running.push(callId);
    }
    return reply;
  }

  async function answer(link: Link, body: JsonValue): Promise<JsonValue> {
    const request = HolderRequest.parse(body);
    switch (request.type) {
      case "call":
        return (await take(link, request)) as JsonValue;
      case "held":
        return report(link, request);
      case "ask":
        return ask(link, request);
      case "cancel":
        cancel(link, request);
        return {};
      case "prepare": {
        const { type: _, timeoutMs, role, context } = request;
        const input = role === undefined ? { context } : { role, context };
        const prepared = await link.prepare(input, AbortSignal.timeout(Math.max(0, timeoutMs)));
        return prepared ? { prepared: prepared as JsonValue } : {};
      }
      case "hook": {
        const { call, timeoutMs } = request;
        const result = await link.runHook({ call, timeoutMs }, AbortSignal.timeout(timeoutMs + HOOK_GRACE_MS));
        return result ? { result } : {};
      }
    }
  }

  return {
    open(link) {
      const { agentId, instanceId } = link.identity;
      const serving = bus.serve(runtimeSubject(agentId, instanceId), (body) => answer(link, body));
      links.set(link, { serving, calls: new Map() });
    },
    close(link) {
      const held = links.get(link);
      if (!held) return;
      held.serving[Symbol.dispose]();
      for (const call of held.calls.values()) giveBack(link, call);
      links.delete(link);
    },
    drain(link) {
      for (const call of links.get(link)?.calls.values() ?? []) if (call.phase !== "sent") giveBack(link, call);
    },
    ended(link, { callId, attempt }) {
      const call = links.get(link)?.calls.get(callId);
      if (call) letGo(link, call);
      return call?.attempt === attempt ? call.sentAt : undefined;
    },
    state(link, { callId, state, attempt }) {
      const call = links.get(link)?.calls.get(callId);
      if (!call || (attempt !== undefined && attempt !== call.attempt)) return;
      if (state === "unseen") letGo(link, call);
      tell(call, { type: "state", ...call.name, state });
    },
    progress(link, { callId, data }) {
      const call = links.get(link)?.calls.get(callId);
      if (call && bus.healthy) tell(call, { type: "progress", callId, data });
    },
    tidy() {
      const now = performance.now();
      for (const [link, held] of links)
        for (const call of held.calls.values()) {
          if (call.phase === "sent" ? now > call.endsAt : now > call.askedAt + forgottenMs) giveBack(link, call);
        }
    },
  };
}

const sentAtOf = ({ sentAt }: HeldCall) => (sentAt === undefined ? {} : { sentAt });

const REFUSED: TakenReply = { taken: false, never: false };
