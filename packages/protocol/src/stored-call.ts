import type { CaseDecision } from "./access-lock.ts";
import type { JsonObject, JsonValue } from "@patchbay/kit";
import type { Manifest } from "./manifest.ts";

/** A call from an ended attempt as the control plane stores it, with its function set's decision. */
export interface StoredCall {
  callId: string;
  runId: string;
  functionName: string;
  /** The query's role, or its service's default role. */
  role: string | undefined;
  context: JsonObject;
  /** As the model wrote them: a string if they are not JSON. */
  arguments: JsonValue;
  /** Undefined if no check decided, or if that is not known. */
  decision: CaseDecision | undefined;
  /** The rule that refused the call, else its failure code. Undefined for a call that succeeded. */
  rule: string | undefined;
  succeeded: boolean;
  /** Paths that were removed from the result. */
  redacted: readonly string[];
  /** The run's function set. */
  manifestHash: string | undefined;
}

/** False for a function in another service of the agent. A name that no service has may be a new function in this one. */
export function isOfService(service: string, { name, functions }: Manifest, functionName: string): boolean {
  const origin = functions.find((declared) => declared.name === functionName)?.origin?.service;
  return origin === undefined
    ? name === service || functions.some((declared) => declared.origin?.service === service)
    : origin === service;
}
