import { z } from "zod";

/** The place of a span in its trace, in the form of W3C Trace Context. */
export const TraceContext = z.object({
  traceparent: z.string().describe("Ids of the trace and of the parent span, and the sampled flag."),
  tracestate: z.string().exactOptional().describe("Data of the tracing systems on the way, passed on unchanged."),
});
export type TraceContext = z.infer<typeof TraceContext>;

/** The ids that a `traceparent` names. */
export interface SpanIds {
  traceId: string;
  spanId: string;
  /** Bit 0 is the sampled flag. */
  traceFlags: number;
}

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const ONLY_ZEROS = /^0+$/;

/** Reads a `traceparent` of version 00, and of a later version what it has in common with 00. Undefined for an invalid one. */
export function parseTraceparent(text: string): SpanIds | undefined {
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(text.trim()) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (ONLY_ZEROS.test(traceId) || ONLY_ZEROS.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}

export function formatTraceparent({ traceId, spanId, traceFlags }: SpanIds): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/** A longer `tracestate` is dropped, as W3C Trace Context allows; the trace continues without it. */
const TRACESTATE_CHARS = 512;

/** The trace context in the headers of a request. Undefined without a valid `traceparent`. */
export function traceOfHeaders(header: (name: string) => string | undefined): TraceContext | undefined {
  const traceparent = header("traceparent");
  if (traceparent === undefined || !parseTraceparent(traceparent)) return undefined;
  const tracestate = header("tracestate");
  const isKept = tracestate !== undefined && tracestate !== "" && tracestate.length <= TRACESTATE_CHARS;
  return { traceparent, ...(isKept && { tracestate }) };
}
