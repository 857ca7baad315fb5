import * as otel from "@opentelemetry/api";
import {
  ERROR_TYPE,
  GEN_AI,
  OPERATIONS,
  PATCHBAY,
  type QueryResponse,
  SESSION_ID,
  type TraceContext,
} from "@patchbay/protocol";
import { RunMoved } from "../ports/function-gateway.ts";
import type { ChosenModel, ModelRequest, ModelTurn } from "../ports/model-provider.ts";
import type { CallRecord, RunTrace } from "../ports/records.ts";
import type { Segment, SegmentEnd } from "../ports/tracing.ts";
import { attemptAttributes, callAttributes, given, outcomeAttributes, toolSpan, turnAttributes } from "./attributes.ts";
import { requestContent, textContent, turnContent } from "./content.ts";
import { traceContextOf } from "./trace-context.ts";

/** See `Segment`. Its span is open from its creation until `end`. */
export class SegmentSpan implements Segment {
  readonly trace: RunTrace;
  readonly traceId: string | undefined;
  readonly #tracer: otel.Tracer;
  readonly #span: otel.Span;
  readonly #content: boolean;
  /** The parent context for call and plan spans. */
  readonly #at: otel.Context;
  #aboveAttempts: otel.Context;
  /** Attributes that all spans in the run share. */
  #ofRun: otel.Attributes = {};
  #showsTexts: boolean;
  #isOpen = true;

  constructor(input: {
    tracer: otel.Tracer;
    parent: otel.Context;
    links: otel.Link[];
    agentId: string;
    /** 1 for a run's first segment. */
    number: number;
    content: boolean;
  }) {
    const { tracer, parent, links, agentId, number, content } = input;
    const attributes = {
      [GEN_AI.operation]: OPERATIONS.agent,
      [GEN_AI.agentId]: agentId,
      [PATCHBAY.segment]: number,
    };
    this.#tracer = tracer;
    this.#content = this.#showsTexts = content;
    this.#span = tracer.startSpan(OPERATIONS.agent, { kind: otel.SpanKind.INTERNAL, attributes, links }, parent);
    this.#at = this.#aboveAttempts = otel.trace.setSpan(parent, this.#span);
    const own = this.#span.spanContext();
    const above = otel.trace.getSpanContext(parent);
    this.trace = { parent: traceContextOf(above ?? own), segment: traceContextOf(own) };
    this.traceId = (own.traceFlags & otel.TraceFlags.SAMPLED) === 0 ? undefined : own.traceId;
  }

  named(agentName: string): void {
    this.trace.agentName = agentName;
    this.#span.updateName(`${OPERATIONS.agent} ${agentName}`);
    this.#span.setAttribute(GEN_AI.agentName, agentName);
  }

  accepted({ runId, threadId, sessionId, requestId, request, waitedMs }: Parameters<Segment["accepted"]>[0]): void {
    this.#ofRun = { [GEN_AI.conversation]: threadId, [PATCHBAY.runId]: runId };
    this.#span.setAttributes({
      ...this.#ofRun,
      ...given({
        [PATCHBAY.role]: request.role,
        [PATCHBAY.requestId]: requestId,
        [PATCHBAY.waitedMs]: waitedMs,
        [SESSION_ID]: sessionId,
        [GEN_AI.inputMessages]: this.#content ? textContent("user", request.query) : undefined,
      }),
    });
  }

  withholdTexts(): void {
    this.#showsTexts = false;
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    return otel.context.with(this.#at, work);
  }

  async plan<T>(work: () => Promise<T>): Promise<T> {
    const of = { parent: this.#at, kind: otel.SpanKind.INTERNAL, attributes: { [GEN_AI.operation]: OPERATIONS.plan } };
    try {
      return await this.#within(OPERATIONS.plan, of, (span) => {
        this.#aboveAttempts = otel.trace.setSpan(this.#at, span);
        return work();
      });
    } finally {
      this.#aboveAttempts = this.#at;
    }
  }

  attempt(model: ChosenModel, request: ModelRequest, work: () => Promise<ModelTurn>): Promise<ModelTurn> {
    const of = {
      parent: this.#aboveAttempts,
      kind: otel.SpanKind.CLIENT,
      attributes: attemptAttributes(model, request),
    };
    return this.#within(`${OPERATIONS.chat} ${model.model}`, of, async (span) => {
      if (this.#content && span.isRecording()) span.setAttributes(requestContent(request));
      const turn = await work();
      span.setAttributes(turnAttributes(turn));
      if (this.#showsTexts && span.isRecording()) span.setAttributes(turnContent(turn));
      return turn;
    });
  }

  call<T>(call: CallRecord, work: (trace: TraceContext) => Promise<T>): Promise<T> {
    const of = { parent: this.#at, kind: otel.SpanKind.INTERNAL, attributes: callAttributes(call) };
    return this.#within(toolSpan(call), of, async (span) => {
      try {
        return await work(traceContextOf(span.spanContext()));
      } finally {
        this.#setOutcome(span, call);
      }
    });
  }

  refused(calls: readonly CallRecord[]): void {
    for (const call of calls) {
      const attributes = { ...callAttributes(call), ...this.#ofRun };
      const span = this.#tracer.startSpan(toolSpan(call), { kind: otel.SpanKind.INTERNAL, attributes }, this.#at);
      this.#setOutcome(span, call);
      span.end();
    }
  }

  result({ success, code, response, usage }: QueryResponse): void {
    this.#span.setAttributes({
      [GEN_AI.inputTokens]: usage.inputTokens,
      [GEN_AI.outputTokens]: usage.outputTokens,
      ...(this.#content && success && { [GEN_AI.outputMessages]: textContent("assistant", response) }),
    });
    if (!success) fail(this.#span, code ?? "internal");
  }

  end(how: SegmentEnd, error?: unknown): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#span.setAttribute(PATCHBAY.segmentEnd, how);
    if (error !== undefined) fail(this.#span, errorTypeOf(error));
    this.#span.end();
  }

  #setOutcome(span: otel.Span, call: CallRecord): void {
    if (!span.isRecording()) return;
    span.setAttributes(outcomeAttributes(call, this.#content));
    if (call.outcome?.ok === false) fail(span, call.outcome.code);
  }

  /** Runs `work` in a span. If `work` throws, the span fails, unless the run moves. */
  async #within<T>(
    name: string,
    { parent, kind, attributes }: { parent: otel.Context; kind: otel.SpanKind; attributes: otel.Attributes },
    work: (span: otel.Span) => Promise<T>,
  ): Promise<T> {
    const span = this.#tracer.startSpan(name, { kind, attributes: { ...attributes, ...this.#ofRun } }, parent);
    try {
      return await otel.context.with(otel.trace.setSpan(parent, span), () => work(span));
    } catch (error) {
      if (error instanceof RunMoved) span.setAttribute(PATCHBAY.segmentEnd, "moved");
      else fail(span, errorTypeOf(error));
      throw error;
    } finally {
      span.end();
    }
  }
}

/** An error's code. Its message may quote what must not leave the process. */
function errorTypeOf(error: unknown): string {
  const { code, kind, name } = error as { code?: string; kind?: string; name?: string };
  return code ?? kind ?? name ?? "error";
}

function fail(span: otel.Span, type: string): void {
  span.setAttribute(ERROR_TYPE, type);
  span.setStatus({ code: otel.SpanStatusCode.ERROR, message: type });
}
