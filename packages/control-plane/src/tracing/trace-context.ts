import { createTraceState, type SpanContext } from "@opentelemetry/api";
import { formatTraceparent, parseTraceparent, type TraceContext } from "@patchbay/protocol";

/** Undefined for a context that is not valid. */
export function spanContextOf({ traceparent, tracestate }: TraceContext): SpanContext | undefined {
  const ids = parseTraceparent(traceparent);
  return (
    ids && { ...ids, isRemote: true, ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }) }
  );
}

/** The form of a span's context that crosses a wire. */
export function traceContextOf({ traceState, ...ids }: SpanContext): TraceContext {
  const tracestate = traceState?.serialize();
  return { traceparent: formatTraceparent(ids), ...(tracestate && { tracestate }) };
}
