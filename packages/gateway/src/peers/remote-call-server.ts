import { monotonicMs, timeoutSignal } from "@patchbay/kit/time";
import { type JsonValue, present } from "@patchbay/kit";
import type { LateResults } from "../calls/late-results.ts";
import { HOOK_GRACE_MS } from "../channel.ts";
import type { GatewayContext } from "../context.ts";
import { callFrame, encodeFrame, type FrameOf } from "../frames.ts";
import type { RuntimeConnection } from "../local/runtime-connection.ts";
import { HostedCall } from "./hosted-call.ts";
import {
  type CheckReply,
  HostRequest,
  type HostUpdate,
  type QueryReply,
  replicaSubject,
  runtimeSubject,
  type TakenReply,
} from "./messages.ts";

type Request<Type extends HostRequest["type"]> = Extract<HostRequest, { type: Type }>;

interface Hosted {
  serving: Disposable;
  calls: Map<string, HostedCall>;
}

interface RemoteCallServerDeps extends Pick<GatewayContext, "bus" | "calls" | "within" | "replicaId" | "clock"> {
  /** How long past its time a call may still be at its runtime. */
  graceMs: number;
  /** A queued call is given back when the waiting replica has not asked about it for this time. */
  abandonedMs: number;
  late: Pick<LateResults, "has" | "acknowledged">;
}

/** Serves this replica's connections to runs on other replicas. */
export class RemoteCallServer {
  readonly #deps: RemoteCallServerDeps;
  readonly #connections = new Map<RuntimeConnection, Hosted>();

  constructor(deps: RemoteCallServerDeps) {
    this.#deps = deps;
  }

  /** Serves the connection, its runtime's current one from now on. */
  open(connection: RuntimeConnection): void {
    const { agentId, instanceId } = connection.identity;
    const serving = this.#deps.bus.serve(runtimeSubject(agentId, instanceId), (body) => this.#answer(connection, body));
    this.#connections.set(connection, { serving, calls: new Map() });
  }

  /** Stops serving the connection and gives its calls back. */
  close(connection: RuntimeConnection): void {
    const hosted = this.#connections.get(connection);
    if (!hosted) return;
    hosted.serving[Symbol.dispose]();
    for (const call of hosted.calls.values()) this.#giveBack(connection, call);
    this.#connections.delete(connection);
  }

  /** Gives queued calls back. */
  drain(connection: RuntimeConnection): void {
    for (const call of this.#callsOf(connection)) if (!call.isSent) this.#giveBack(connection, call);
  }

  /** Removes an ended call. Returns which replica waits for it, and when this attempt was sent, if this replica sent it. */
  ended(connection: RuntimeConnection, { callId, attempt }: FrameOf<"result">): { replyTo?: string; sentAt?: number } {
    const call = this.#find(connection, callId);
    if (!call) return {};
    this.#remove(connection, call);
    return { replyTo: call.replyTo, ...(call.attempt === attempt && sentAtOf(call)) };
  }

  /** False for a call of no other replica's run, as for `progress`. */
  state(connection: RuntimeConnection, { callId, state, attempt }: FrameOf<"callState">): boolean {
    const call = this.#find(connection, callId);
    if (!call || (attempt !== undefined && attempt !== call.attempt)) return call !== undefined;
    if (state === "unseen" || (state === "running" && call.detached)) this.#remove(connection, call);
    this.#update(call, { type: "state", ...call.id, state });
    return true;
  }

  progress(connection: RuntimeConnection, { callId, data }: FrameOf<"progress">): boolean {
    const call = this.#find(connection, callId);
    if (call && this.#deps.bus.healthy) this.#update(call, { type: "progress", callId, data });
    return call !== undefined;
  }

  /**
   * Gives back calls that exceeded their time, and queued ones that their replica no longer asks about: it may have
   * stopped.
   */
  tidy(): void {
    const now = monotonicMs();
    for (const [connection, hosted] of this.#connections)
      for (const call of hosted.calls.values())
        if (call.isSent ? now > call.endsAt : now > call.askedAt + this.#deps.abandonedMs)
          this.#giveBack(connection, call);
  }

  async #answer(connection: RuntimeConnection, body: JsonValue): Promise<JsonValue> {
    const request = HostRequest.parse(body);
    switch (request.type) {
      case "call":
        return (await this.#take(connection, request)) as JsonValue;
      case "check":
        return this.#check(connection, request);
      case "query":
        return this.#query(connection, request);
      case "cancel":
        this.#cancel(connection, request);
        return {};
      case "stop":
        connection.stop(request.callId);
        return {};
      case "acknowledge":
        this.#deps.late.acknowledged(connection, request.calls);
        return {};
      case "prepare": {
        const { timeoutMs, role, context, caller, trace, call } = request;
        const input = { context, ...present({ role, caller, trace, call }) };
        const prepared = await connection.prepare(input, timeoutSignal(Math.max(0, timeoutMs)));
        return prepared ? { prepared: prepared as JsonValue } : {};
      }
      case "hook": {
        const { call, timeoutMs, trace } = request;
        const input = { call, timeoutMs, ...present({ trace }) };
        const result = await connection.runHook(input, timeoutSignal(timeoutMs + HOOK_GRACE_MS));
        return result ? { result } : {};
      }
    }
  }

  /** A repeated request for an attempt gets the answer of the first one: a lost reply must not run the call twice. */
  #take(connection: RuntimeConnection, request: Request<"call">): Promise<TakenReply> {
    const known = this.#find(connection, request.callId);
    if (known?.taken && known.attempt === request.attempt) return known.taken;
    if (known && known.attempt >= request.attempt) return Promise.resolve(REFUSED);
    if (known) this.#drop(connection, known);
    if (!connection.available || !connection.hasRoom) return Promise.resolve(REFUSED);
    const call = this.#host(connection, request);
    return (call.taken = this.#claim(connection, call, request));
  }

  /**
   * Claims the attempt in the store and gives it to the connection. The row decides: it refuses a withdrawn attempt,
   * and one whose run has a newer fence. Otherwise two replicas could have the call executed.
   */
  async #claim(connection: RuntimeConnection, call: HostedCall, request: Request<"call">): Promise<TakenReply> {
    const { calls, within, replicaId } = this.#deps;
    try {
      const { callId, attempt, fence, timeoutMs, detached, trace, flow } = request;
      const { orgId, agentId, instanceId } = connection.identity;
      const order = await within(orgId, () => calls.accept({ callId, attempt, fence, replicaId }));
      if (!order) {
        this.#remove(connection, call);
        return REFUSED;
      }
      const isOurs = order.agentId === agentId && order.instanceId === instanceId;
      const text = isOurs
        ? encodeFrame(callFrame({ ...order, timeoutMs, ...present({ detached, trace, flow }) }))
        : undefined;
      if (text !== undefined && connection.available && call.enter(connection, text))
        return { taken: true, sent: call.isSent, ...sentAtOf(call) };
      this.#remove(connection, call);
      return { taken: false, never: true };
    } catch (error) {
      this.#remove(connection, call);
      throw error;
    }
  }

  #check(connection: RuntimeConnection, request: Request<"check">): CheckReply {
    const reply: CheckReply = { waiting: [], running: [] };
    for (const { callId, attempt } of request.calls) {
      const call = this.#find(connection, callId);
      if (call?.attempt === attempt) {
        call.asked(request.replyTo);
        reply[call.isSent ? "running" : "waiting"].push(callId);
      } else if (this.#deps.late.has(connection, callId)) reply.running.push(callId);
    }
    return reply;
  }

  #query(connection: RuntimeConnection, request: Request<"query">): QueryReply {
    const { callId, attempt } = request;
    const known = this.#find(connection, callId);
    if (!connection.open || (known && known.attempt > attempt)) return { asked: false };
    if (known?.isSent && known.attempt === attempt) known.replyTo = request.replyTo;
    else {
      // A queued call must not be sent after the query: the runtime answers that it never saw the attempt, and the run
      // may then give the call to another runtime.
      if (known) this.#drop(connection, known);
      const call = this.#host(connection, request);
      call.phase = "sent";
      connection.adopt(call);
    }
    connection.queryCall(callId, attempt, request.ageMs);
    return { asked: true };
  }

  #cancel(connection: RuntimeConnection, { callId, attempt, reason }: Request<"cancel">): void {
    const call = this.#find(connection, callId);
    if (call?.attempt !== attempt) return;
    if (!call.isSent) return this.#drop(connection, call);
    connection.send({ type: "cancel", callId, reason });
    if (reason === "cancelled") this.#remove(connection, call);
  }

  #host(connection: RuntimeConnection, request: Request<"call" | "query">): HostedCall {
    const { callId, attempt, timeoutMs, replyTo, detached = false } = request;
    const call: HostedCall = new HostedCall({
      callId,
      attempt,
      // A query whose time is over is for the answer to a cancel.
      detached: detached && timeoutMs > 0,
      endsInMs: timeoutMs + this.#deps.graceMs,
      replyTo,
      now: () => this.#deps.clock.now(),
      sentLate: () => this.#update(call, { type: "sent", callId, attempt, ...sentAtOf(call) }),
    });
    this.#connections.get(connection)?.calls.set(callId, call);
    return call;
  }

  #drop(connection: RuntimeConnection, call: HostedCall): void {
    call.phase = "dropped";
    this.#remove(connection, call);
  }

  #remove(connection: RuntimeConnection, call: HostedCall): void {
    connection.release(call);
    const calls = this.#connections.get(connection)?.calls;
    if (calls?.get(call.callId) === call) calls.delete(call.callId);
  }

  #giveBack(connection: RuntimeConnection, call: HostedCall): void {
    const never = call.phase === "queued";
    this.#remove(connection, call);
    // The answer to its request reports a call that is being claimed.
    if (call.phase === "claiming") call.phase = "dropped";
    else this.#update(call, { type: "released", ...call.id, never });
  }

  #update(call: HostedCall, update: HostUpdate): void {
    this.#deps.bus.publish(replicaSubject(call.replyTo), update as JsonValue);
  }

  #find(connection: RuntimeConnection, callId: string): HostedCall | undefined {
    return this.#connections.get(connection)?.calls.get(callId);
  }

  #callsOf(connection: RuntimeConnection): HostedCall[] {
    return [...(this.#connections.get(connection)?.calls.values() ?? [])];
  }
}

const sentAtOf = ({ sentAt }: HostedCall) => (sentAt === undefined ? {} : { sentAt });

const REFUSED: TakenReply = { taken: false, never: false };
