import { monotonicMs, setTimeout } from "@patchbay/kit/time";
import {
  type CallFrame,
  type CallOutcome,
  type ControlPlaneFrame,
  type ErrorReport,
  type FunctionManifest,
} from "@patchbay/protocol";
import { type JsonValue } from "@patchbay/kit";
import { failure } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Service } from "../service.ts";
import type { ControlPlaneConnection } from "./connection.ts";
import { CANCELLED, type Claim, claimOf, FORGOTTEN, forgeryOf, MAY_BE_FORGOTTEN, TIMED_OUT } from "./claim.ts";
import { reportOf } from "./error-report.ts";
import { encodeFrame, encodeResult, stateFrame } from "./frames.ts";
import { type ApprovalNotice, createNotices } from "./notices.ts";
import { type FlowKeys, withTag } from "../flow/tags.ts";
import { type Ended, logEnd, type OpenCall, toInvocation } from "./open-call.ts";
import { overrunEnds, returnsSoon, RunningHandlers, whileRunning } from "./running.ts";
import { createLedger } from "./ledger.ts";
import { callSpan, type InSpan } from "./traces.ts";

const RESEND_EVERY_MS = 1_000;

/** The attempt that a control plane frame names. */
type AttemptId = Pick<CallFrame, "callId" | "attempt">;

interface CallsOptions {
  service: () => Service;
  concurrency: number;
  /** Sends errors in the owner's code with the results. */
  reportErrors?: boolean;
  flowKeys?: FlowKeys;
  /** Called once the control plane has stored the approval request. */
  onApproval?: (notice: ApprovalNotice) => void;
  log: Log;
  /** The connection for a result whose own connection has ended. */
  currentConnection: () => ControlPlaneConnection | undefined;
  inSpan: InSpan;
}

/**
 * Runs calls, at most `concurrency` at the same time, and answers questions about each until its result is acknowledged. Runs a
 * call at most once: an id that was seen before is answered with its state or its result, never with a second run.
 */
export class Calls {
  readonly #options: CallsOptions;
  readonly #functionOf: (name: string) => FunctionManifest | undefined;
  readonly #ledger = createLedger<ControlPlaneConnection, Claim>();
  readonly #notices: ReturnType<typeof createNotices>;
  readonly #open = new Map<string, OpenCall>();
  readonly #waiting: OpenCall[] = [];
  readonly #running: RunningHandlers;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(options: CallsOptions) {
    this.#options = options;
    const { concurrency, service } = options;
    this.#functionOf = (name) => service().manifest.functions.find((declared) => declared.name === name);
    this.#running = new RunningHandlers(concurrency, (name) => this.#functionOf(name)?.concurrency);
    this.#notices = createNotices(options.onApproval);
  }

  receive(frame: CallFrame, connection: ControlPlaneConnection): void {
    const forged = this.#forgeryOf(frame);
    if (forged) {
      this.#options.log.error("refused a call that is not the call of its id", { callId: frame.callId });
      connection.send(encodeResult(frame.callId, frame.attempt, forged));
      return;
    }
    if (this.#answerKnown(frame, connection)) return;
    if (this.#drained || connection.isStale || this.#ledger.refuses(frame.callId, frame.attempt)) {
      this.#refuse(frame, connection);
      return;
    }
    const call = { frame, receivedAt: monotonicMs(), abort: new AbortController(), connection };
    this.#open.set(frame.callId, call);
    if (frame.detached) this.#waiting.unshift(call);
    else this.#waiting.push(call);
    this.#startNext();
  }

  /**
   * Gives up calls whose handlers have not started, over one connection or all: the control plane may give them to another runtime, which
   * a handler that started later would not know.
   */
  giveUp(lost?: ControlPlaneConnection): void {
    const given = this.#waiting.filter(({ connection }) => lost === undefined || connection === lost);
    for (const call of given) {
      this.#waiting.splice(this.#waiting.indexOf(call), 1);
      this.#open.delete(call.frame.callId);
      this.#refuse(call.frame, call.connection);
    }
    if (given.length > 0) this.#settleDrain();
  }

  query(frame: Extract<ControlPlaneFrame, { type: "callQuery" }>, connection: ControlPlaneConnection): void {
    const { callId, attempt, ageMs } = frame;
    if (this.#answerKnown(frame, connection)) return;
    // For a remembered call, this runtime knows that no later attempt has run.
    const isForgotten = this.#ledger.finished(callId) === undefined && this.#ledger.mayHaveForgotten(callId, ageMs);
    if (isForgotten) connection.send(encodeResult(callId, attempt, MAY_BE_FORGOTTEN));
    else this.#refuse(frame, connection);
  }

  cancel(callId: string, reason: string): void {
    this.#notices.drop(callId);
    const call = this.#open.get(callId);
    if (!call) return;
    call.abort.abort(abortReason(reason));
    const index = this.#waiting.indexOf(call);
    if (index === -1) return;
    this.#waiting.splice(index, 1);
    this.#finish(call, { outcome: reason === "timed_out" ? TIMED_OUT : CANCELLED });
  }

  /** Results up to this attempt are stored. Without `attempt`: the results of all attempts. */
  acknowledge(callId: string, attempt?: number): void {
    if (!this.#ledger.acknowledge(callId, attempt)) return;
    this.#notices.send(callId);
    this.#settleDrain();
  }

  /**
   * Sends results whose connection has ended on `connection`, at a quarter of the unasked frames per second that it
   * accepts: the control plane did not ask for them, and drops or closes what exceeds its rate.
   */
  resend(connection: ControlPlaneConnection): void {
    if (!connection.open) return;
    this.#reportDetached(connection);
    let left = Math.ceil(connection.framesPerSecond / 4);
    for (const result of this.#ledger.unacknowledged()) {
      if (result.sender?.open) continue;
      if (left-- === 0) {
        setTimeout(() => this.resend(connection), RESEND_EVERY_MS).unref();
        return;
      }
      result.sender = connection;
      connection.send(result.frame);
    }
  }

  /** Their runs ask about them only when something ends: a call that is over is cancelled in answer to this report. */
  #reportDetached(connection: ControlPlaneConnection): void {
    for (const call of this.#open.values()) {
      if (call.report === undefined || call.connection.open) continue;
      call.connection = connection;
      connection.sendIfIdle(call.report);
    }
  }

  /** Accepts no further calls. Resolves when no call is open and every result is acknowledged. */
  drain(): Promise<void> {
    this.#drained ??= Promise.withResolvers();
    this.#settleDrain();
    return this.#drained.promise;
  }

  abortAll(): void {
    this.#waiting.length = 0;
    for (const call of this.#open.values()) call.abort.abort(abortReason("the runtime stops"));
  }

  #settleDrain(): void {
    if (this.#open.size === 0 && this.#ledger.unacknowledgedCount === 0) this.#drained?.resolve();
  }

  /** The refusal for a call whose id was seen with another function or role, or which was approved with other arguments. */
  #forgeryOf(frame: CallFrame): CallOutcome | undefined {
    const known = this.#open.get(frame.callId);
    const claim = known ? claimOf(known.frame) : this.#ledger.finished(frame.callId);
    return claim && forgeryOf(claim, frame);
  }

  /**
   * Answers for a call that was seen before. Returns false for a new call, and for an attempt that the previous one
   * permits.
   */
  #answerKnown(
    { callId, attempt, unsure }: AttemptId & Pick<CallFrame, "unsure">,
    connection: ControlPlaneConnection,
  ): boolean {
    const call = this.#open.get(callId);
    if (call) {
      call.connection = connection;
      // The control plane drops a failure that lets the call run again if it names an earlier attempt than the one it waits for.
      call.frame = { ...call.frame, attempt: Math.max(call.frame.attempt, attempt) };
      connection.send(stateFrame({ callId, attempt }, "running"));
      return true;
    }
    const claim = this.#ledger.finished(callId);
    if (claim === undefined) return false;
    if (attempt > (claim.repeatsAfter ?? Infinity)) {
      // The control plane has stored how the earlier attempt ended, because it delivers a later one.
      this.#notices.drop(callId);
      this.acknowledge(callId);
      return false;
    }
    const result = this.#ledger.kept(callId);
    // Without the result only the owner's code knows it.
    if (!result && unsure) return false;
    connection.send(stateFrame({ callId, attempt }, "done"));
    if (result) result.sender = connection;
    connection.send(result?.frame ?? encodeResult(callId, 1, FORGOTTEN));
    return true;
  }

  /** Answers `unseen`, which promises that this attempt will not run here: the control plane may deliver the call elsewhere. */
  #refuse({ callId, attempt }: AttemptId, connection: ControlPlaneConnection): void {
    this.#ledger.refuse(callId, attempt);
    connection.send(stateFrame({ callId, attempt }, "unseen"));
  }

  /** Starts the waiting calls in order, detached ones first, except those whose function is at its limit. */
  #startNext(): void {
    for (let at = 0; at < this.#waiting.length;) {
      const call = this.#waiting[at]!;
      if (this.#running.full && !call.frame.detached) return;
      if (!this.#running.start(call.frame)) at++;
      else {
        this.#waiting.splice(at, 1);
        void this.#run(call);
      }
    }
  }

  /** Frees the slot when the handler returns and not when the call ends: a handler that ignores its abort still uses the process. */
  async #run(call: OpenCall): Promise<void> {
    let overrun: Promise<void> | undefined;
    const ended = await this.#invoke(call, (handler) => (overrun = handler));
    const stillRuns = overrun !== undefined && !(await returnsSoon(overrun));
    this.#finish(call, stillRuns ? { ...ended, outcome: whileRunning(ended.outcome) } : ended);
    if (stillRuns) await overrunEnds(overrun!, call.frame, this.#options);
    this.#running.end(call.frame);
    this.#startNext();
    if (stillRuns) this.#reportReturn(call, ended.outcome);
  }

  /** Repeats a call's result after its handler has returned late, which ends its permit. If it is lost, the permit expires. */
  #reportReturn({ frame: { callId, attempt, function: name }, connection }: OpenCall, outcome: CallOutcome): void {
    if (this.#running.limitOf(name) === undefined) return;
    const sender = connection.open ? connection : this.#options.currentConnection();
    sender?.send(encodeResult(callId, attempt, outcome));
  }

  async #invoke(call: OpenCall, onOverrun: (handler: Promise<void>) => void): Promise<Ended> {
    const { log, reportErrors, inSpan, flowKeys = [] } = this.#options;
    const service = this.#options.service();
    const invocation = toInvocation(call, flowKeys);
    if (invocation.timeoutMs === 0) return { outcome: TIMED_OUT };
    const { functionName, runId, callId } = invocation;
    let input: JsonValue | undefined;
    let report: ErrorReport | undefined;
    try {
      const options = {
        signal: call.abort.signal,
        onBegin: () => call.frame.detached && call.connection.send((call.report = stateFrame(call.frame, "running"))),
        onProgress: (data: JsonValue) => this.#sendProgress(call, data),
        onReached: (reached: JsonValue) => void (input = reached),
        ...(reportErrors && { onError: (error: unknown) => void (report = reportOf(error)) }),
        onOverrun,
        log,
      };
      const outcome = await inSpan(callSpan(call.frame), () => service.invoke(invocation, options));
      this.#notices.add(service, invocation, outcome);
      const whole = { ...outcome, ...(input !== undefined && { input }) };
      const isTagged = this.#functionOf(functionName)?.flow?.mode !== undefined;
      return { outcome: isTagged ? withTag(call.frame, whole, flowKeys) : whole, ...(report && { error: report }) };
    } catch (error) {
      log.error("internal error while handling a call", { functionName, runId, callId, error });
      return { outcome: failure("function_failed", "The function failed.") };
    }
  }

  #finish(call: OpenCall, { outcome, error }: Ended): void {
    const { callId, attempt } = call.frame;
    const sender = call.connection.open ? call.connection : this.#options.currentConnection();
    const result = { frame: encodeResult(callId, attempt, outcome, error), attempt, sender };
    logEnd(this.#options.log, call, outcome, this.#functionOf(call.frame.function) !== undefined);
    this.#open.delete(callId);
    this.#ledger.keep(callId, result, claimOf(call.frame, outcome));
    sender?.send(result.frame);
  }

  #sendProgress(call: OpenCall, data: JsonValue): void {
    const { callId, detached, function: name } = call.frame;
    if (!this.#open.has(callId)) return;
    // The control plane stores that of detached calls.
    if (detached && this.#functionOf(name)?.flow?.withheld) return;
    const frame = encodeFrame({ type: "progress", callId, data });
    if (frame === undefined) this.#options.log.warn("progress dropped: larger than a frame", { callId });
    else call.connection.sendIfIdle(detached ? (call.report = frame) : frame);
  }
}

/** The service reads the name: `TimeoutError` ends a call as timed out, any other name as cancelled. */
function abortReason(reason: string): DOMException {
  return new DOMException(reason, reason === "timed_out" ? "TimeoutError" : "AbortError");
}
