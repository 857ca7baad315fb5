import type { AuditEntry } from "@patchbay/engine/ports/records";
import { invalid, type ServiceError, type ServiceErrorCode, standardError } from "@patchbay/engine/ports/service-error";
import { narrowed, type Principal } from "@patchbay/engine/run/api";
import { codeOf } from "../kernel/errors.ts";
import type { HttpDeps } from "./deps.ts";

/**
 * The principal, narrowed by its caller's token. Audits a refusal, within the limit for requests that start no query.
 */
export async function provenBy(
  principal: Principal,
  { token, lacks }: { token: string | undefined; lacks: string | undefined },
  deps: Pick<HttpDeps, "proveCaller" | "adapterLimit" | "audit" | "log">,
): Promise<Principal> {
  const { proveCaller, adapterLimit, audit, log } = deps;
  try {
    if (lacks !== undefined) throw standardError("role_not_allowed", `the token lacks the scope ${lacks}.`);
    if (token === undefined)
      throw standardError("authentication_failed", "this agent requires the token of the caller in X-Patchbay-Caller.");
    if (!proveCaller) throw noIssuer();
    const caller = await proveCaller(token, principal);
    if (principal.proven && !caller.ids.includes(principal.proven.ids[0]))
      throw standardError(
        "authentication_failed",
        "the token in X-Patchbay-Caller names another caller than the one that Authorization stands for.",
      );
    return narrowed(principal, caller);
  } catch (error) {
    const rule = REFUSALS[codeOf(error)];
    if (rule === undefined) throw error;
    const { agentId, orgId, keyId, tier } = principal;
    // A refused request does not count as a query, so it could otherwise fill the audit log without limit.
    const state = await adapterLimit(orgId, tier);
    if (state && !state.allowed) throw error;
    const entry: AuditEntry & { orgId: string } = { action: "caller.refused", agentId, orgId, keyId, rule };
    // The request is refused even if the audit entry cannot be stored.
    await audit.record([entry]).catch((cause: unknown) => {
      log.warn("a refused caller could not be audited", { agentId, cause });
    });
    throw error;
  }
}

/** The audited rule for each refusal. Other codes are faults of the server or its set-up. */
const REFUSALS: Partial<Record<ServiceErrorCode, string>> = {
  authentication_failed: "caller_token",
  role_not_allowed: "role_not_allowed",
};

/** Ignoring the token would let its sender believe that it limits the request. */
const noIssuer = (): ServiceError =>
  invalid([
    {
      path: "X-Patchbay-Caller",
      message: "cannot be verified: the operator has not named an identity provider (--caller-issuer)",
    },
  ]);
