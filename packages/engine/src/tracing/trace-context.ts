import { createTraceState, type SpanContext } from "@opentelemetry/api";
import { formatTraceparent, parseTraceparent, type TraceContext } from "@patchbay/protocol";

/** Undefined if the context is invalid. */
export function spanContextOf({ traceparent, tracestate }: TraceContext): SpanContext | undefined {
  const ids = parseTraceparent(traceparent);
  return (
    ids && { ...ids, isRemote: true, ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }) }
  );
}

/** A span context in its wire form. */
export function traceContextOf({ traceState, ...ids }: SpanContext): TraceContext {
  const tracestate = traceState?.serialize();
  return { traceparent: formatTraceparent(ids), ...(tracestate && { tracestate }) };
}
