import { monotonicMs, sleep } from "@patchbay/kit/time";
import { type HookVerdict, type PreparedContext } from "@patchbay/protocol";
import { type JsonValue, present } from "@patchbay/kit";
import type { z } from "zod";
import { MAX_BODY_BYTES, NoResponders } from "@patchbay/engine/ports/bus";
import type { HookInput } from "@patchbay/engine/ports/function-gateway";
import {
  AssignedCalls,
  type CancelReason,
  type ChannelCall,
  type ConnectionIdentity,
  HOOK_GRACE_MS,
  type PrepareInput,
  type RuntimeChannel,
} from "../channel.ts";
import type { GatewayContext } from "../context.ts";
import { BATCH, gatherAcknowledgements } from "./acknowledgements.ts";
import * as messages from "./messages.ts";

/** More of what the run has seen is left out: the bus would refuse the request. The runtime then trusts nothing. */
const MAX_FLOW_BYTES = MAX_BODY_BYTES - 4_096;
/**
 * Pauses before the attempts to reach a host. After a reconnect, the server may not know the host's subscription for a
 * moment.
 */
const PAUSES_MS = [0, 100, 400];
/** A channel that failed is not used for this many answer timeouts, unless it is announced again. */
const REST = 2;
const CANCEL_ATTEMPTS = 3;
/** Unanswered checks after which the host counts as silent. */
const SILENT_CHECKS = 3;

/** What all remote channels in a gateway work with. */
export interface RemoteChannelDeps extends Pick<GatewayContext, "bus" | "calls" | "replicaId" | "log"> {
  /** How long to wait for a host's answer. */
  answerMs: number;
  /** Channels that carry calls. */
  busy: Set<RemoteChannel>;
}

type RequestOptions = { timeoutMs?: number; signal?: AbortSignal };

/** `offered`: the host has not answered yet. `taken`: the host has the call, or has asked its runtime about it. */
type CallState = "offered" | "taken";

/** The channel to a runtime that is connected to another replica, its host. `check` finds messages lost on the bus. */
export class RemoteChannel implements RuntimeChannel {
  readonly identity: ConnectionIdentity;
  readonly local = false;
  readonly carriesToken = (): boolean => false;
  draining = false;
  lastPick = 0;
  readonly assigned = new AssignedCalls();
  readonly acknowledge: RuntimeChannel["acknowledge"];
  readonly #deps: RemoteChannelDeps;
  readonly #subject: string;
  readonly #calls = new Map<ChannelCall, CallState>();
  /** The connection's calls as last announced, and how many belonged to this replica. */
  #announced = { calls: 0, own: 0 };
  /** Until then the channel counts as closed: its subject had no server. */
  #closedUntil = 0;
  /** Until then the channel counts as unreachable: its host did not answer. */
  #unreachableUntil = 0;
  #unansweredChecks = 0;

  constructor(identity: ConnectionIdentity, deps: RemoteChannelDeps) {
    this.identity = identity;
    this.#deps = deps;
    this.#subject = messages.runtimeSubject(identity.agentId, identity.instanceId);
    this.acknowledge = gatherAcknowledgements((calls) => this.#request({ type: "acknowledge", calls }));
  }

  get open(): boolean {
    return monotonicMs() >= this.#closedUntil;
  }

  get available(): boolean {
    return this.open && !this.draining;
  }

  get reachable(): boolean {
    return this.#deps.bus.healthy && monotonicMs() >= this.#unreachableUntil;
  }

  /** This replica's calls count immediately, others' as last announced. */
  get load(): number {
    const own = this.#calls.size + this.assigned.count;
    return Math.max(own, this.#announced.calls - this.#announced.own + own) / this.identity.concurrency;
  }

  /** This replica's calls on the channel, including those that the host has not answered yet. */
  get calls(): ChannelCall[] {
    return [...this.#calls.keys()];
  }

  /** The host announced the connection, so both exist and work. */
  announced({ draining, calls }: { draining: boolean; calls: number }): void {
    this.draining = draining;
    this.#announced = { calls, own: this.#calls.size };
    this.#closedUntil = 0;
    this.#unreachableUntil = 0;
    this.#unansweredChecks = 0;
  }

  enqueue(call: ChannelCall): boolean {
    this.#add(call, "offered");
    void this.#deliver(call);
    return true;
  }

  queryState(call: ChannelCall): void {
    this.#add(call, "taken");
    void this.#query(call);
  }

  cancel(call: ChannelCall, reason: CancelReason): void {
    const { callId, attempt } = call.order;
    if (reason === "cancelled" && this.#calls.get(call) === "offered")
      this.#deps.calls.withdraw({ callId, attempt }).catch(() => {});
    void this.#sendCancel({ type: "cancel", callId, attempt, reason });
  }

  stop(callId: string): void {
    void this.#sendCancel({ type: "stop", callId });
  }

  release(call: ChannelCall): void {
    this.#calls.delete(call);
    if (this.#calls.size === 0) this.#deps.busy.delete(this);
  }

  /**
   * The connection has closed. Taken calls must be found over another one; the host still answers those that were
   * offered.
   */
  closed(): void {
    for (const call of this.calls) if (this.#calls.get(call) === "taken") call.detach();
  }

  async prepare(input: PrepareInput, signal: AbortSignal): Promise<PreparedContext | undefined> {
    const { answerMs } = this.#deps;
    const request = { type: "prepare", ...input, timeoutMs: answerMs } as const;
    return (await this.#ask(request, { signal }, messages.PrepareReply))?.prepared;
  }

  async runHook(input: HookInput, signal: AbortSignal): Promise<HookVerdict | undefined> {
    const timeoutMs = input.timeoutMs + HOOK_GRACE_MS + this.#deps.answerMs;
    return (await this.#ask({ type: "hook", ...input }, { timeoutMs, signal }, messages.HookReply))?.result;
  }

  /** Undefined when the host does not answer. */
  async #ask<T>(request: messages.HostRequest, options: RequestOptions, reply: z.ZodType<T>): Promise<T | undefined> {
    try {
      return reply.parse(await this.#request(request, options));
    } catch (error) {
      return void this.#noteFailure(error);
    }
  }

  /** Asks the host which calls it has. Returns those that it does not have, and detaches all when it is silent. */
  async check(): Promise<ChannelCall[]> {
    const taken = [...this.#calls].filter(([, state]) => state === "taken").map(([call]) => call);
    const missing: ChannelCall[] = [];
    for (let at = 0; at < taken.length; at += BATCH)
      missing.push(...(await this.#checkBatch(taken.slice(at, at + BATCH))));
    return missing.filter((call) => this.#calls.has(call));
  }

  async #checkBatch(calls: ChannelCall[]): Promise<ChannelCall[]> {
    const ids = calls.map(({ order: { callId, attempt } }) => ({ callId, attempt }));
    try {
      const request = { type: "check", calls: ids, replyTo: this.#deps.replicaId } as const;
      const { waiting, running } = messages.CheckReply.parse(await this.#request(request));
      this.#unansweredChecks = 0;
      const sent = new Set(running);
      const hosted = new Set([...waiting, ...running]);
      for (const call of calls) {
        if (!this.#calls.has(call) || !hosted.has(call.order.callId)) continue;
        // The query, its answer or the "sent" update was lost.
        if (call.awaitsState) void this.#query(call);
        else if (sent.has(call.order.callId)) call.sentByHost(undefined);
      }
      return calls.filter(({ order }) => !hosted.has(order.callId));
    } catch (error) {
      if (error instanceof NoResponders) return this.#noteFailure(error) ? calls : [];
      if (++this.#unansweredChecks < SILENT_CHECKS) return [];
      this.#unansweredChecks = 0;
      this.#closeForNow();
      for (const call of calls) if (this.#calls.has(call)) call.detach("silent");
      return [];
    }
  }

  #add(call: ChannelCall, state: CallState): void {
    this.#calls.set(call, state);
    this.#deps.busy.add(this);
  }

  async #deliver(call: ChannelCall): Promise<void> {
    const reply = await this.#offer(call);
    if (this.#calls.get(call) !== "offered") return;
    if (reply === "not taken") return call.notSent();
    this.#calls.set(call, "taken");
    if (reply !== "taken") call.sentByHost(reply.sentAt);
  }

  /**
   * Offers the call to its host. If it is uncertain whether the host took the attempt, the call's row in the store
   * decides.
   */
  async #offer(call: ChannelCall): Promise<{ sentAt: number | undefined } | "taken" | "not taken"> {
    const { bus, replicaId } = this.#deps;
    const { callId, attempt, fence, timeoutMs, detached, trace, flow } = call.order;
    const carried = flow && Buffer.byteLength(JSON.stringify(flow)) <= MAX_FLOW_BYTES ? flow : undefined;
    for (const pauseMs of PAUSES_MS) {
      if (pauseMs > 0) await sleep(pauseMs);
      if (!this.#calls.has(call)) return "not taken";
      try {
        const asked = {
          callId,
          attempt,
          fence,
          timeoutMs,
          replyTo: replicaId,
          ...present({ detached, trace, flow: carried }),
        };
        const reply = messages.TakenReply.parse(await this.#request({ type: "call", ...asked }));
        if (reply.taken) return reply.sent ? { sentAt: reply.sentAt } : "taken";
        return reply.never ? "not taken" : await this.#withdraw(call);
      } catch (error) {
        if (error instanceof NoResponders) continue;
        this.#unreachableUntil = this.#restUntil();
        return this.#withdraw(call);
      }
    }
    if (bus.healthy) this.#closeForNow();
    return "not taken";
  }

  /**
   * Withdraws an attempt in the store, which refuses the host's later claim. Otherwise, a request that arrives late
   * could run a call that another runtime has received meanwhile. If it cannot be withdrawn, the host has it or may
   * have it, which the next check finds out.
   */
  async #withdraw(call: ChannelCall): Promise<"taken" | "not taken"> {
    const { callId, attempt } = call.order;
    const late = sleep(this.#deps.answerMs, { ref: false });
    const withdrawn = this.#deps.calls.withdraw({ callId, attempt }).catch(() => false);
    return (await Promise.race([withdrawn, late])) ? "not taken" : "taken";
  }

  async #query(call: ChannelCall): Promise<void> {
    const { callId, attempt, timeoutMs, detached } = call.order;
    const asked = { callId, attempt, timeoutMs, ...present({ detached, ageMs: call.ageMs }) };
    try {
      const request = { type: "query", ...asked, replyTo: this.#deps.replicaId } as const;
      if (messages.QueryReply.parse(await this.#request(request)).asked) return;
      this.#closeForNow();
    } catch (error) {
      // The host may have received a query that got no answer; the next check repeats it.
      if (!this.#noteFailure(error)) return;
    }
    if (this.#calls.has(call)) call.detach();
  }

  async #sendCancel(request: Extract<messages.HostRequest, { type: "cancel" | "stop" }>): Promise<void> {
    for (let attempt = 0; attempt < CANCEL_ATTEMPTS; attempt++) {
      try {
        await this.#request(request);
        return;
      } catch (error) {
        if (error instanceof NoResponders) return;
      }
    }
  }

  #request(request: messages.HostRequest, options: RequestOptions = {}): Promise<JsonValue> {
    const { bus, answerMs } = this.#deps;
    return bus.request(this.#subject, request as JsonValue, { timeoutMs: answerMs, ...options });
  }

  /** Returns true when the subject has no server: the channel is closed for a while. */
  #noteFailure(error: unknown): boolean {
    const { bus, log } = this.#deps;
    // A disconnected bus reports the same for every subject, which says nothing about this host.
    const noServer = error instanceof NoResponders && bus.healthy;
    if (noServer) this.#closeForNow();
    else log.debug("host of a runtime did not answer", { instanceId: this.identity.instanceId, error });
    return noServer;
  }

  #closeForNow(): void {
    this.#closedUntil = this.#restUntil();
  }

  #restUntil(): number {
    return monotonicMs() + REST * this.#deps.answerMs;
  }
}
