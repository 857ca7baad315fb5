import type { CallOutcome, JsonObject, Manifest, PreparedContext } from "@patchbay/protocol";
import type { Invocation, InvokeOptions } from "./invocation.ts";
import type { Log } from "./log.ts";

/** A set of functions behind one gate: what a runtime connects and what tests call. */
export interface Service {
  readonly manifest: Manifest;
  /** Checks and reads the context of a query. Faults carry paths such as `contextJson.customerId`. */
  prepare(query: { role?: string; context: JsonObject }, options?: { log?: Log }): Promise<PreparedContext>;
  /** Runs one call through every check. Never rejects: failures are outcomes. */
  invoke(invocation: Invocation, options: InvokeOptions): Promise<CallOutcome>;
}
