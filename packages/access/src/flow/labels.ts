import type { CallOutcome, FunctionManifest, ResultLabels } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { hasPath } from "./results.ts";

/** What a function's manifest says about its results. Undefined without data-flow rules. */
export function labelsOf({ flow, openWorld = false }: FunctionManifest): ResultLabels | undefined {
  if (flow?.mode === undefined) return undefined;
  const isStrange = (flow.returns ?? (openWorld ? "untrusted" : "trusted")) === "untrusted";
  return present({ untrusted: isStrange ? ["$"] : flow.untrusted, secret: flow.secret });
}

/** The labels that a stored result has by these. An error may repeat what strangers can write in any part. */
export function labelsIn({ untrusted = [], secret = [] }: ResultLabels, outcome: CallOutcome): ResultLabels {
  if (!outcome.ok) return untrusted.length > 0 ? { untrusted: ["$"] } : {};
  const found = (paths: readonly string[]) => paths.filter((path) => hasPath(outcome.value, path));
  return { untrusted: found(untrusted), secret: found(secret) };
}
