import { z } from "zod";

/** A span's place in its trace, in W3C Trace Context form. */
export const TraceContext = z.object({
  traceparent: z.string().describe("The trace id, the parent span's id, and the sampled flag."),
  tracestate: z.string().exactOptional().describe("Data from tracing systems on the way, passed on unchanged."),
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

/** Reads a version 00 `traceparent`, and the common part of a later version. Undefined for an invalid one. */
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

/** The trace context in a request's headers. Undefined without a valid `traceparent`. */
export function traceOfHeaders(header: (name: string) => string | undefined): TraceContext | undefined {
  const traceparent = header("traceparent");
  if (traceparent === undefined || !parseTraceparent(traceparent)) return undefined;
  const tracestate = header("tracestate");
  const isKept = tracestate !== undefined && tracestate !== "" && tracestate.length <= TRACESTATE_CHARS;
  return { traceparent, ...(isKept && { tracestate }) };
}
