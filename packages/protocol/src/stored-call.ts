import type { CaseDecision } from "./access-lock.ts";
import type { CallerIdentity } from "./caller.ts";
import type { JsonObject, JsonValue } from "@patchbay/kit";
import type { Manifest } from "./manifest.ts";

/** A call from an ended attempt as the control plane stores it, with its function set's decision. */
export interface StoredCall {
  callId: string;
  runId: string;
  functionName: string;
  /** The query's role, or its service's default role. */
  role: string | undefined;
  /** True if the query had no role, so that another default role would be its role. Absent in earlier runs. */
  roleByDefault?: true | undefined;
  context: JsonObject;
  caller?: CallerIdentity | undefined;
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

/** The services of an agent that a call may be for. A name that no service has may be a new function in any of them. */
export function servicesOf({ name, functions }: Manifest, functionName: string): string[] {
  const origin = functions.find((declared) => declared.name === functionName)?.origin?.service;
  if (origin !== undefined) return [origin];
  return [...new Set([name, ...functions.flatMap((declared) => declared.origin?.service ?? [])])];
}

/** False for a function in another service of the agent. */
export const isOfService = (service: string, manifest: Manifest, functionName: string): boolean =>
  servicesOf(manifest, functionName).includes(service);
