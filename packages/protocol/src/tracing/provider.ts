/** Where every `@opentelemetry/api` copy with this major version keeps what an SDK has registered. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/**
 * True if the program has registered an OpenTelemetry trace provider. Found without the API, which takes a cold process
 * some tens of milliseconds.
 */
export function hasTraceProvider(): boolean {
  return Boolean((globalThis as { [REGISTRY]?: { trace?: unknown } })[REGISTRY]?.trace);
}
