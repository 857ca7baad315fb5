import { hasTraceProvider } from "@patchbay/protocol";
import type { Tracing } from "../ports/tracing.ts";
import type { TracingOptions } from "./tracing.ts";

/**
 * The tracing of this process. Undefined without a registered provider of traces: the API is then not even loaded, which would take
 * a cold process some tens of milliseconds.
 */
export async function loadTracing(options: TracingOptions): Promise<Tracing | undefined> {
  if (!hasTraceProvider()) return undefined;
  const { createTracing } = await import("./tracing.ts");
  return createTracing(options);
}
