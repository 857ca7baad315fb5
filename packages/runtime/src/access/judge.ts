import type { CaseDecision, StoredCall } from "@patchbay/protocol";
import type { Service } from "../service.ts";

/** The decision of a service's checks on a call. Undefined if they took longer than the function's time limit. */
export async function judge(
  service: Service,
  {
    functionName,
    role,
    context,
    caller,
    arguments: given,
  }: Pick<StoredCall, "functionName" | "role" | "context" | "caller" | "arguments">,
): Promise<{ decision: CaseDecision; rule?: string } | undefined> {
  const verdict = await service.check({ functionName, role, context, caller, arguments: given });
  if (verdict.ok) return { decision: "allowed" };
  if (verdict.outcome.code === "approval_required") return { decision: "approval" };
  return verdict.outcome.code === "timed_out" ? undefined : { decision: "denied", rule: verdict.rule };
}
