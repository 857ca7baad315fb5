import type { CallFrame, CallOutcome, JsonValue, PlaneFrame, RuntimeFrame } from "@patchbay/protocol";
import type { Invocation } from "../invocation.ts";
import type { Log } from "../log.ts";
import type { Service } from "../service.ts";
import { encodeFrame, encodeResult } from "./frames.ts";
import { createLedger } from "./ledger.ts";
import type { Link } from "./link.ts";

const RESEND_EVERY_MS = 1_000;
/** A handler that returns within this time of its abort is not worth a line of the log. */
const OVERRUN_MS = 1_000;

/** A call this runtime holds: waiting for a free place, or running. */
interface HeldCall {
  readonly frame: CallFrame;
  readonly receivedAt: number;
  readonly abort: AbortController;
  /** Whoever asked for the call last: progress and result go there. */
  link: Link;
}

/** An attempt that a control plane speaks of. */
type Asked = Pick<CallFrame, "callId" | "attempt">;

/** Runs calls, at most `concurrency` side by side, and answers for each of them until its result is acknowledged. */
export interface Calls {
  receive(frame: CallFrame, link: Link): void;
  query(frame: Extract<PlaneFrame, { type: "callQuery" }>, link: Link): void;
  cancel(callId: string, reason: string): void;
  acknowledge(callId: string): void;
  /** Gives results whose link is gone to `link`, at a quarter of the frames that it takes unasked. */
  resend(link: Link): void;
  /** Takes no further calls; resolves when none is held and every result is acknowledged. */
  drain(): Promise<void>;
  abortAll(): void;
}

export function createCalls(options: {
  service: () => Service;
  concurrency: number;
  log: Log;
  /** The link for a result whose own link is gone. */
  currentLink: () => Link | undefined;
}): Calls {
  const { service, concurrency, log, currentLink } = options;
  const ledger = createLedger<Link>();
  const held = new Map<string, HeldCall>();
  const waiting: HeldCall[] = [];
  let running = 0;
  let draining = false;
  let drained: PromiseWithResolvers<void> | undefined;

  function receive(frame: CallFrame, link: Link): void {
    if (isForged(frame)) {
      log.error("refused a call whose id belongs to another one", { callId: frame.callId });
      link.send(encodeResult(frame.callId, frame.attempt, FORGED));
      return;
    }
    if (answerKnown(frame, link)) return;
    if (draining || ledger.refuses(frame.callId, frame.attempt)) {
      sayUnseen(frame, link);
      return;
    }
    const call = { frame, receivedAt: performance.now(), abort: new AbortController(), link };
    held.set(frame.callId, call);
    if (running < concurrency) void run(call);
    else waiting.push(call);
  }

  /** True when the id was seen with another function or role: what one role was given is no answer to another. */
  function isForged(frame: CallFrame): boolean {
    const known = held.get(frame.callId);
    const claim = known ? claimOf(known.frame) : ledger.finished(frame.callId);
    return claim !== undefined && claim !== claimOf(frame);
  }

  /** Says what became of a call that was seen before; false for a new one. */
  function answerKnown({ callId, attempt }: Asked, link: Link): boolean {
    const call = held.get(callId);
    if (call) {
      call.link = link;
      say({ type: "callState", callId, attempt, state: "running" }, link);
      return true;
    }
    if (ledger.finished(callId) === undefined) return false;
    say({ type: "callState", callId, attempt, state: "done" }, link);
    const result = ledger.kept(callId);
    if (result) result.sender = link;
    link.send(result?.frame ?? encodeResult(callId, 1, FORGOTTEN));
    return true;
  }

  /** Both the answer and the promise: this attempt will not run here. */
  function sayUnseen({ callId, attempt }: Asked, link: Link): void {
    ledger.refuse(callId, attempt);
    say({ type: "callState", callId, attempt, state: "unseen" }, link);
  }

  /** The call's place is free again when its handler has returned: one that ignores its abort still costs its owner's process. */
  async function run(call: HeldCall): Promise<void> {
    running++;
    let overrun: Promise<void> | undefined;
    const outcome = await invoke(call, (handler) => (overrun = handler));
    finish(call, outcome);
    if (overrun) await outlast(call, overrun);
    running--;
    const next = waiting.shift();
    if (next) void run(next);
  }

  /** Waits for a handler that runs on after its call has ended. */
  async function outlast({ frame }: HeldCall, handler: Promise<void>): Promise<void> {
    const fields = { function: frame.function, runId: frame.runId, callId: frame.callId, concurrency };
    let warned = false;
    const timer = setTimeout(() => {
      warned = true;
      log.warn("a handler runs on after its call ended and takes a place; end it when its signal aborts", fields);
    }, OVERRUN_MS).unref();
    await handler;
    clearTimeout(timer);
    if (warned) log.info("a handler that ran on has returned; its place is free", fields);
  }

  async function invoke(call: HeldCall, onOverrun: (handler: Promise<void>) => void): Promise<CallOutcome> {
    const invocation = toInvocation(call);
    if (invocation.timeoutMs === 0) return TIMED_OUT;
    const fields = { function: invocation.functionName, runId: invocation.runId, callId: invocation.callId };
    let input: JsonValue | undefined;
    try {
      const outcome = await service().invoke(invocation, {
        signal: call.abort.signal,
        onProgress: (data) => progress(call, data),
        onReached: (reached) => void (input = reached),
        onOverrun,
        log,
      });
      return { ...outcome, ...(input !== undefined && { input }) };
    } catch (error) {
      log.error("a call broke outside its function", { ...fields, error });
      return { ok: false, code: "function_failed", message: "The function failed." };
    }
  }

  function finish(call: HeldCall, outcome: CallOutcome): void {
    const { callId, attempt } = call.frame;
    const claim = claimOf(call.frame);
    const sender = call.link.open ? call.link : currentLink();
    const result = { frame: encodeResult(callId, attempt, outcome), sender };
    held.delete(callId);
    ledger.keep(callId, result, claim);
    sender?.send(result.frame);
  }

  function progress(call: HeldCall, data: JsonValue): void {
    if (!held.has(call.frame.callId)) return;
    const frame = encodeFrame({ type: "progress", callId: call.frame.callId, data });
    if (frame === undefined) log.warn("progress dropped: larger than a frame", { callId: call.frame.callId });
    else call.link.sendIfIdle(frame);
  }

  function resend(link: Link): void {
    if (!link.open) return;
    let left = Math.ceil(link.framesPerSecond / 4);
    for (const result of ledger.unacknowledged()) {
      if (result.sender?.open) continue;
      if (left-- === 0) {
        // Of a call that it asks about, the control plane gets the result at once.
        setTimeout(() => resend(link), RESEND_EVERY_MS).unref();
        return;
      }
      result.sender = link;
      link.send(result.frame);
    }
  }

  function settleDrain(): void {
    if (held.size === 0 && ledger.unacknowledgedCount === 0) drained?.resolve();
  }

  return {
    receive,
    query(asked, link) {
      if (answerKnown(asked, link)) return;
      if (ledger.mayHaveForgotten(asked.callId)) link.send(encodeResult(asked.callId, asked.attempt, MAY_HAVE_RUN));
      else sayUnseen(asked, link);
    },
    cancel(callId, reason) {
      const call = held.get(callId);
      if (!call) return;
      call.abort.abort(abortReason(reason));
      const place = waiting.indexOf(call);
      if (place === -1) return;
      waiting.splice(place, 1);
      finish(call, reason === "timed_out" ? TIMED_OUT : CANCELLED);
    },
    acknowledge(callId) {
      ledger.acknowledge(callId);
      settleDrain();
    },
    resend,
    drain() {
      draining = true;
      drained ??= Promise.withResolvers();
      settleDrain();
      return drained.promise;
    },
    abortAll() {
      waiting.length = 0;
      for (const call of held.values()) call.abort.abort(abortReason("the runtime stops"));
    },
  };
}

const TIMED_OUT: CallOutcome = { ok: false, code: "timed_out", message: "The function was not started in time." };
const CANCELLED: CallOutcome = { ok: false, code: "cancelled", message: "The call was cancelled before it started." };
const FORGOTTEN: CallOutcome = {
  ok: false,
  code: "outcome_unknown",
  message: "The function ran and its result was acknowledged; the runtime keeps it no longer.",
};

/** "Unseen" would have the call delivered again. */
const MAY_HAVE_RUN: CallOutcome = {
  ok: false,
  code: "outcome_unknown",
  message: "The function may have run: the runtime no longer remembers calls of that time.",
};

const FORGED: CallOutcome = {
  ok: false,
  code: "denied",
  message: "The id of this call belongs to another call.",
  rule: "redelivery",
};

const claimOf = (frame: CallFrame): string => JSON.stringify([frame.function, frame.role]);

/** The service reads the name: `TimeoutError` ends a call as timed out, any other as cancelled. */
function abortReason(reason: string): DOMException {
  return new DOMException(reason, reason === "timed_out" ? "TimeoutError" : "AbortError");
}

function toInvocation({ frame, receivedAt }: HeldCall): Invocation {
  const { callId, attempt, context, threadId, runId, role, sessionId } = frame;
  return {
    functionName: frame.function,
    arguments: frame.arguments,
    context,
    threadId,
    runId,
    callId,
    attempt,
    timeoutMs: Math.max(0, Math.ceil(frame.timeoutMs - (performance.now() - receivedAt))),
    ...(role !== undefined && { role }),
    ...(sessionId !== undefined && { sessionId }),
  };
}

function say(frame: RuntimeFrame, link: Link): void {
  link.send(JSON.stringify(frame));
}
