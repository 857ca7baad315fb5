import { canonicalJson, type JsonObject, present } from "@patchbay/kit";
import { type Fault, type Inclusions, type Manifest, outermost } from "@patchbay/protocol";
import { type Caller, identityOf, type ProvenCaller, withListedClaims } from "../../ports/callers.ts";
import { invalid, type ServiceError, standardError } from "../../ports/service-error.ts";
import { effectiveRole, mayState, ownRole, statable } from "../role-check.ts";

/** The part of a principal that decides on roles and contexts. */
interface Holder {
  fixed?: { role: string; context: JsonObject };
  roles?: readonly string[];
  pinned?: readonly string[] | undefined;
  inclusions?: Inclusions | undefined;
  callerClaims?: readonly string[];
  proven?: ProvenCaller;
}

/** The role and context that a query claims. */
interface Claimed {
  role?: string;
  defaultRole?: string;
  context?: JsonObject;
  repeats?: { request: Pick<Caller, "caller"> };
}

/**
 * The principal as narrowed by its caller's token: the token limits the roles, and never adds one to the key's. A role
 * that another one includes is not listed. Throws `role_not_allowed` when the key may state none of the token's roles.
 */
export function narrowed<Of extends Holder>(principal: Of, caller: ProvenCaller): Of {
  const { roles: pinned, inclusions, callerClaims } = principal;
  const proven = withListedClaims(caller, callerClaims);
  if (!proven.roles) return { ...principal, pinned, proven };
  const both = statable({ roles: proven.roles, inclusions })!.filter((role) => mayState(principal, role));
  const roles = outermost(both, inclusions);
  if (roles.length === 0 && proven.roles.length > 0)
    throw notOfCaller(`the key may not state ${proven.roles.join(", ")}, which the token in X-Patchbay-Caller proves`);
  return { ...principal, roles, pinned, proven };
}

/**
 * A query's role and context: those in its client token, else those that it states, and those that the caller's token
 * proves. Throws where they contradict each other.
 */
export function asClaimed(principal: Holder, query: Claimed): Pick<Claimed, "role" | "context"> {
  const { proven, fixed, inclusions } = principal;
  const claimed: Claimed = fixed ?? query;
  const { role, defaultRole, context } = claimed;
  if (!proven) return present({ role: role ?? defaultRole, context });
  const { roles } = proven;
  if (!roles) return { ...present({ role: role ?? defaultRole }), context: contextOf(claimed, proven) };
  if (role !== undefined && !mayState({ roles, inclusions }, role))
    throw notOfCaller(`the token in X-Patchbay-Caller proves ${roles.join(", ") || "no role"}, not ${role}`);
  return { ...present({ role: role ?? ownRole(principal) }), context: contextOf(claimed, proven) };
}

/** What is proved about a query's caller: a repeated run keeps its own. */
export const identityIn = ({ proven }: Holder, { repeats }: Claimed) =>
  proven ? identityOf(proven) : repeats?.request.caller;

/** For whom a query is made, with the default role of its function set. */
export const callerIn =
  (principal: Holder, query: Claimed) =>
  (manifest: Manifest): Caller => ({
    context: query.context ?? {},
    ...present({ role: effectiveRole(principal, query.role, manifest), caller: identityIn(principal, query) }),
  });

function contextOf({ context: claimed = {} }: Claimed, { context, members }: ProvenCaller): JsonObject {
  const faults = members
    .filter((member) => Object.hasOwn(claimed, member) && !isProven(member, claimed, context))
    .map((member): Fault => ({
      path: `contextJson.${member}`,
      message: Object.hasOwn(context, member)
        ? "differs from the token in X-Patchbay-Caller"
        : "can only be stated by the token in X-Patchbay-Caller, which lacks it",
    }));
  if (faults.length > 0) throw invalid(faults);
  return { ...claimed, ...context };
}

const isProven = (member: string, claimed: JsonObject, context: JsonObject): boolean =>
  Object.hasOwn(context, member) && canonicalJson(claimed[member]!) === canonicalJson(context[member]!);

const notOfCaller = (why: string): ServiceError => standardError("role_not_allowed", `${why}.`);
