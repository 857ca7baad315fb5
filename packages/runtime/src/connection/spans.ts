import {
  type Context,
  context,
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { ERROR_TYPE, parseTraceparent, type TraceContext } from "@patchbay/protocol";
import type { InSpan } from "./traces.ts";

/** See `InSpan`. Loaded only with a provider: the API takes a cold process some tens of milliseconds. */
export const inSpan: InSpan = async (spanOf, work) => {
  const { name, attributes, trace: above, failureOf } = spanOf();
  const parent = above ? parentOf(above) : ROOT_CONTEXT;
  const span = trace.getTracer("patchbay").startSpan(name, { kind: SpanKind.INTERNAL, attributes }, parent);
  let failure: string | undefined;
  try {
    const result = await context.with(trace.setSpan(parent, span), work);
    failure = failureOf(result);
    return result;
  } catch (error) {
    failure = error instanceof Error ? error.name : "error";
    throw error;
  } finally {
    if (failure !== undefined) {
      span.setAttribute(ERROR_TYPE, failure);
      span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
    }
    span.end();
  }
};

function parentOf({ traceparent, tracestate }: TraceContext): Context {
  const ids = parseTraceparent(traceparent);
  if (!ids) return ROOT_CONTEXT;
  const traceState = tracestate === undefined ? {} : { traceState: createTraceState(tracestate) };
  return trace.setSpanContext(ROOT_CONTEXT, { ...ids, isRemote: true, ...traceState });
}
