import type { CaseDecision } from "./access-lock.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { Manifest } from "./manifest.ts";

/** A call of an ended attempt as the control plane stores it, with what the checks of its function set decided. */
export interface StoredCall {
  callId: string;
  runId: string;
  functionName: string;
  /** The role of the query, or the default role of its service. */
  role: string | undefined;
  context: JsonObject;
  /** As the model wrote them: a string if they are not JSON. */
  arguments: JsonValue;
  /** Undefined if no check decided, or if that is not known. */
  decision: CaseDecision | undefined;
  /** The rule that refused the call, else the code of its failure. Undefined for a call that succeeded. */
  rule: string | undefined;
  succeeded: boolean;
  /** Paths that were removed from the result. */
  redacted: readonly string[];
  /** The function set of the run. */
  manifestHash: string | undefined;
}

/** False for a function that another service of the agent has. A name that no service has may be a new function of this one. */
export function isOfService(service: string, { name, functions }: Manifest, functionName: string): boolean {
  const origin = functions.find((one) => one.name === functionName)?.origin?.service;
  return origin === undefined
    ? name === service || functions.some((one) => one.origin?.service === service)
    : origin === service;
}
