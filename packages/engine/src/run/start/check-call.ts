import type { CheckRequest, CheckResponse } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { invalid, ServiceError } from "../../ports/service-error.ts";
import type { Principal } from "../api.ts";
import { visibleFunctions } from "../role-check.ts";
import type { RunContext } from "../run-context.ts";
import { asClaimed, callerIn } from "./claimed.ts";
import { connectServices } from "./connect.ts";

/** How long a check waits for a runtime that is reconnecting. */
const ARRIVAL_MS = 5_000;
/** Equal for unknown and hidden functions, so that a caller cannot find out which ones exist. */
const UNKNOWN: CheckResponse = { allowed: false, verdict: "denied", rule: "unknown" };

/** See `Runs.check`. Takes the path of a query's call, up to its delivery. */
export async function checkCall(
  principal: Principal,
  { role: stated, contextJson, toolName, parameters }: CheckRequest,
  { gateway }: Pick<RunContext, "gateway">,
  signal: AbortSignal,
): Promise<CheckResponse | undefined> {
  const { agentId } = principal;
  const { role, context } = asClaimed(principal, present({ role: stated, context: contextJson }));
  const connected = await connectServices(agentId, callerIn(principal, present({ role, context })), {
    gateway,
    signal,
    remainingMs: () => ARRIVAL_MS,
  });
  if (!connected) return undefined;
  if ("faults" in connected) throw invalid(connected.faults);
  const { caller, prepared } = connected;
  const { manifest, manifestHash } = prepared.set;
  const found = visibleFunctions(manifest, caller.role).find(({ name }) => name === toolName);
  if (!found) return UNKNOWN;
  const { service, manifestHash: hash } = found.origin ?? { service: manifest.name, manifestHash };
  const asked = { ...caller, call: { function: toolName, arguments: parameters } };
  const answer = await gateway.prepare(agentId, hash, asked, { signal });
  if (answer && !(answer.ok && answer.judgement))
    throw new ServiceError(
      "conflict",
      `The runtime of service ${service} has an earlier version, which cannot check calls. Update @patchbay/functions there.`,
    );
  const { decision, rule } = (answer?.ok && answer.judgement) || {};
  if (decision === undefined)
    throw new ServiceError("unavailable", `The service ${service} did not decide in time. Try again in a moment.`);
  // The runtime may have a newer function set, in which the function is hidden.
  if (rule === "unknown" || rule === "roles") return UNKNOWN;
  return { allowed: decision === "allowed", verdict: decision, ...present({ rule }) };
}
