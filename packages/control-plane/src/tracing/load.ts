import type { Tracing } from "../ports/tracing.ts";
import type { TracingOptions } from "./tracing.ts";

/** Where every copy of `@opentelemetry/api` of this major version keeps what an SDK has registered. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/**
 * The tracing of this process. Undefined without a registered provider of traces: the API is then not even loaded, which would take
 * a cold process some tens of milliseconds.
 */
export async function loadTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const registered = (globalThis as { [REGISTRY]?: { trace?: unknown } })[REGISTRY];
  if (!registered?.trace) return undefined;
  const { createTracing } = await import("./tracing.ts");
  return createTracing(options);
}
