import { randomUUID } from "node:crypto";
import { LIMITS, type CallOutcome, type JsonObject, type JsonValue } from "@patchbay/protocol";
import { toJson } from "../json.ts";
import { createLog, type Log } from "../log.ts";
import type { Service } from "../service.ts";

/** Who calls what. */
export interface TestCall {
  functionName: string;
  /** The arguments, as a model would give them. Default `{}`. */
  input?: unknown;
  /** Without one the service's default role applies, as in a query. */
  role?: string;
  /** What a query's contextJson would hold. Default `{}`. */
  context?: JsonObject;
  signal?: AbortSignal;
  onProgress?: (data: JsonValue) => void;
  /** Default: errors alone, as JSON lines on standard error. */
  log?: Log;
}

/**
 * Runs one call through every check a connected runtime makes, without network and without a model. Refusals and failures are
 * outcomes: `code` says which, `rule` which rule refused.
 *
 * ```ts
 * const outcome = await callAs(service, { role: "customer", functionName: "cancel_order", input: { orderId: "42" } });
 * ```
 */
export async function callAs(service: Service, call: TestCall): Promise<CallOutcome> {
  const { functionName, input = {}, context = {}, signal = new AbortController().signal, onProgress } = call;
  const role = call.role || service.manifest.defaultRole;
  return service.invoke(
    {
      functionName,
      arguments: toJson(input),
      context,
      threadId: "thr_test",
      runId: "run_test",
      callId: `call_${randomUUID()}`,
      attempt: 1,
      timeoutMs: LIMITS.functionTimeoutMaxMs,
      ...(role !== undefined && { role }),
    },
    { signal, log: call.log ?? createLog({ level: "error" }), ...(onProgress && { onProgress }) },
  );
}
