import { setTimeout as sleep } from "node:timers/promises";
import type { HookVerdict, JsonValue, PreparedContext } from "@patchbay/protocol";
import { type Bus, NoResponders } from "../ports/bus.ts";
import type { HookInput } from "../ports/function-gateway.ts";
import type { Log } from "../ports/log.ts";
import type { CallStore } from "../ports/run-store.ts";
import { HOOK_GRACE_MS } from "./line.ts";
import type { CancelReason, Line, LineCall, LineIdentity, PrepareInput } from "./line.ts";
import { Reservations } from "./reservations.ts";
import {
  AskedReply,
  HeldReply,
  type HolderRequest,
  HookReply,
  PrepareReply,
  runtimeSubject,
  TakenReply,
} from "./messages.ts";

/** Interest in a subject may lag behind a reconnect of its server. */
const PAUSES_MS = [0, 100, 400];
/** A line that failed is left alone for so many answer times, if it is not announced anew before. */
const REST = 2;
const CANCEL_TRIES = 3;
/** Unanswered checks after which the holder counts as silent. */
const SILENT_CHECKS = 3;
/** Calls asked about in one message: their ids stay far below what a bus carries. */
const CHECK_BATCH = 1_000;

/** What every remote line of a gateway works with. */
export interface RemoteWays {
  bus: Bus;
  calls: CallStore;
  replicaId: string;
  log: Log;
  /** How long an answer is waited for. */
  answerMs: number;
  /** Lines with calls on them. */
  busy: Set<RemoteLine>;
}

/** `placing`: offered to the holder, which has not answered. `placed`: taken, or its runtime was asked about it. */
type Stage = "placing" | "placed";

/** The way to a runtime whose link another replica holds. What the bus loses, `check` finds out. */
export class RemoteLine implements Line {
  readonly identity: LineIdentity;
  readonly local = false;
  draining = false;
  turn = 0;
  readonly reserved = new Reservations();
  readonly #ways: RemoteWays;
  readonly #subject: string;
  readonly #calls = new Map<LineCall, Stage>();
  /** What the holder last said of all calls there, and how many of them were ours. */
  #told = { calls: 0, own: 0 };
  /** Nobody served it. */
  #outUntil = 0;
  /** Its holder did not answer. */
  #doubtfulUntil = 0;
  #unanswered = 0;

  constructor(identity: LineIdentity, ways: RemoteWays) {
    this.identity = identity;
    this.#ways = ways;
    this.#subject = runtimeSubject(identity.agentId, identity.instanceId);
  }

  get open(): boolean {
    return performance.now() >= this.#outUntil;
  }

  get available(): boolean {
    return this.open && !this.draining;
  }

  get reachable(): boolean {
    return this.#ways.bus.healthy && performance.now() >= this.#doubtfulUntil;
  }

  /** Own calls count at once, those of others as last announced. */
  get load(): number {
    const own = this.#calls.size + this.reserved.count;
    return Math.max(own, this.#told.calls - this.#told.own + own) / this.identity.concurrency;
  }

  /** What is on the line, also what its holder has not answered yet. */
  get calls(): LineCall[] {
    return [...this.#calls.keys()];
  }

  /** The holder spoke of the line, so it is there. */
  heard({ draining, calls }: { draining: boolean; calls: number }): void {
    this.draining = draining;
    this.#told = { calls, own: this.#calls.size };
    this.#outUntil = 0;
    this.#doubtfulUntil = 0;
    this.#unanswered = 0;
  }

  enqueue(call: LineCall): boolean {
    this.#add(call, "placing");
    void this.#place(call);
    return true;
  }

  ask(call: LineCall): void {
    this.#add(call, "placed");
    void this.#ask(call);
  }

  cancel(call: LineCall, reason: CancelReason): void {
    const { callId, attempt } = call.order;
    if (reason === "cancelled" && this.#calls.get(call) === "placing")
      this.#ways.calls.withdraw({ callId, attempt }).catch(() => {});
    void this.#tell({ type: "cancel", callId, attempt, reason });
  }

  release(call: LineCall): void {
    this.#calls.delete(call);
    if (this.#calls.size === 0) this.#ways.busy.delete(this);
  }

  /** The link is gone: what its holder had is to be found over another one. What it has not answered yet, it still may. */
  closed(): void {
    for (const call of this.calls) if (this.#calls.get(call) === "placed") call.lose();
  }

  async prepare(input: PrepareInput, signal: AbortSignal): Promise<PreparedContext | undefined> {
    const { bus, answerMs } = this.#ways;
    try {
      const request = { type: "prepare", ...input, timeoutMs: answerMs } as const;
      return PrepareReply.parse(await bus.request(this.#subject, request, { timeoutMs: answerMs, signal })).prepared;
    } catch (error) {
      this.#note(error);
      return undefined;
    }
  }

  async runHook(input: HookInput, signal: AbortSignal): Promise<HookVerdict | undefined> {
    const { bus, answerMs } = this.#ways;
    try {
      const request = { type: "hook", ...input } satisfies HolderRequest;
      const timeoutMs = input.timeoutMs + HOOK_GRACE_MS + answerMs;
      const reply = await bus.request(this.#subject, request as JsonValue, { timeoutMs, signal });
      return HookReply.parse(reply).result;
    } catch (error) {
      this.#note(error);
      return undefined;
    }
  }

  /** Asks the holder which calls it holds; those that it does not are returned, those at a silent one are lost. */
  async check(): Promise<LineCall[]> {
    const asked = [...this.#calls].filter(([, stage]) => stage !== "placing").map(([call]) => call);
    const missing: LineCall[] = [];
    for (let at = 0; at < asked.length; at += CHECK_BATCH)
      missing.push(...(await this.#checkSome(asked.slice(at, at + CHECK_BATCH))));
    return missing.filter((call) => this.#calls.has(call));
  }

  async #checkSome(calls: LineCall[]): Promise<LineCall[]> {
    const { bus, replicaId, answerMs } = this.#ways;
    const ids = calls.map(({ order: { callId, attempt } }) => ({ callId, attempt }));
    try {
      const request = { type: "held", calls: ids, replyTo: replicaId } satisfies HolderRequest;
      const { waiting, running } = HeldReply.parse(await bus.request(this.#subject, request, { timeoutMs: answerMs }));
      this.#unanswered = 0;
      const sent = new Set(running);
      const held = new Set([...waiting, ...running]);
      for (const call of calls) {
        if (!this.#calls.has(call) || !held.has(call.order.callId)) continue;
        if (call.asking) void this.#ask(call);
        else if (sent.has(call.order.callId)) call.sentElsewhere(undefined);
      }
      return calls.filter(({ order }) => !held.has(order.callId));
    } catch (error) {
      if (error instanceof NoResponders) return this.#note(error) ? calls : [];
      if (++this.#unanswered < SILENT_CHECKS) return [];
      this.#unanswered = 0;
      this.#out();
      for (const call of calls) if (this.#calls.has(call)) call.lose({ silent: true });
      return [];
    }
  }

  #add(call: LineCall, stage: Stage): void {
    this.#calls.set(call, stage);
    this.#ways.busy.add(this);
  }

  async #place(call: LineCall): Promise<void> {
    const reply = await this.#offer(call);
    if (this.#calls.get(call) !== "placing") return;
    if (reply === "away") return call.turnedAway();
    this.#calls.set(call, "placed");
    if (reply !== "taken") call.sentElsewhere(reply.sentAt);
  }

  /** Where nobody can say whether the attempt was taken, its row does. */
  async #offer(call: LineCall): Promise<{ sentAt: number | undefined } | "taken" | "away"> {
    const { bus, replicaId, answerMs } = this.#ways;
    const { callId, attempt, fence, timeoutMs } = call.order;
    const request = { type: "call", callId, attempt, fence, timeoutMs, replyTo: replicaId } satisfies HolderRequest;
    for (const pauseMs of PAUSES_MS) {
      if (pauseMs > 0) await sleep(pauseMs);
      if (!this.#calls.has(call)) return "away";
      try {
        const reply = TakenReply.parse(await bus.request(this.#subject, request, { timeoutMs: answerMs }));
        if (reply.taken) return reply.sent ? { sentAt: reply.sentAt } : "taken";
        return reply.never ? "away" : await this.#takeBack(call);
      } catch (error) {
        if (error instanceof NoResponders) continue;
        this.#doubtfulUntil = this.#restUntil();
        return this.#takeBack(call);
      }
    }
    if (bus.healthy) this.#out();
    return "away";
  }

  /** An attempt that cannot be taken back was taken, or may have been: the next check tells. */
  async #takeBack(call: LineCall): Promise<"taken" | "away"> {
    const { callId, attempt } = call.order;
    const late = sleep(this.#ways.answerMs, false, { ref: false });
    const taken = this.#ways.calls.withdraw({ callId, attempt }).catch(() => false);
    return (await Promise.race([taken, late])) ? "away" : "taken";
  }

  async #ask(call: LineCall): Promise<void> {
    const { bus, replicaId, answerMs } = this.#ways;
    const { callId, attempt, timeoutMs } = call.order;
    const request = { type: "ask", callId, attempt, timeoutMs, replyTo: replicaId } satisfies HolderRequest;
    try {
      const reply = await bus.request(this.#subject, request, { timeoutMs: answerMs });
      if (AskedReply.parse(reply).asked) return;
      this.#out();
    } catch (error) {
      // One that was perhaps heard is asked again by the next check.
      if (!this.#note(error)) return;
    }
    if (this.#calls.has(call)) call.lose();
  }

  async #tell(request: Extract<HolderRequest, { type: "cancel" }>): Promise<void> {
    for (let tries = 0; tries < CANCEL_TRIES; tries++) {
      try {
        await this.#ways.bus.request(this.#subject, request, { timeoutMs: this.#ways.answerMs });
        return;
      } catch (error) {
        if (error instanceof NoResponders) return;
      }
    }
  }

  /** True when surely nobody serves the line: it is left alone for a while. */
  #note(error: unknown): boolean {
    const { bus, log } = this.#ways;
    const nobody = error instanceof NoResponders && bus.healthy;
    if (nobody) this.#out();
    else log.debug("a runtime's replica did not answer", { instanceId: this.identity.instanceId, error });
    return nobody;
  }

  #out(): void {
    this.#outUntil = this.#restUntil();
  }

  #restUntil(): number {
    return performance.now() + REST * this.#ways.answerMs;
  }
}
