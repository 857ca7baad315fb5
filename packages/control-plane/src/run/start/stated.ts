import { canonicalJson, type Fault, type JsonObject, MESSAGES, present } from "@patchbay/protocol";
import type { ProvenCaller } from "../../ports/callers.ts";
import { invalid, ServiceError } from "../../ports/service-error.ts";

/** What of a principal decides on roles and contexts. */
interface Holder {
  fixed?: { role: string; context: JsonObject };
  roles?: readonly string[];
  proven?: ProvenCaller;
}

/** Whom a query says that it comes from. */
interface Stated {
  role?: string;
  defaultRole?: string;
  context?: JsonObject;
}

/**
 * The principal as the token of its caller narrows it: the token limits the roles, and never adds one to those of the key. Throws
 * `role_not_allowed` when the key may state none of the token's roles.
 */
export function narrowed<Of extends Holder>(principal: Of, proven: ProvenCaller): Of {
  if (!proven.roles) return { ...principal, proven };
  const roles = proven.roles.filter((role) => principal.roles?.includes(role) ?? true);
  if (roles.length === 0 && proven.roles.length > 0)
    throw notOfCaller(`the key may not state ${proven.roles.join(", ")}, which the token in X-Patchbay-Caller proves`);
  return { ...principal, roles, proven };
}

/**
 * The role and the context of a query: those of its client token, else those that it states, and those that the token of its caller proves. Throws where they
 * contradict each other.
 */
export function asStated(principal: Holder, query: Stated): Omit<Stated, "defaultRole"> {
  const { proven, fixed } = principal;
  const stated: Stated = fixed ?? query;
  const { role, defaultRole, context } = stated;
  if (!proven) return present({ role: role ?? defaultRole, context });
  const { roles } = proven;
  if (!roles) return { ...present({ role: role ?? defaultRole }), context: contextOf(stated, proven) };
  if (role !== undefined && !roles.includes(role))
    throw notOfCaller(`the token in X-Patchbay-Caller proves ${roles.join(", ") || "no role"}, not ${role}`);
  const only = principal.roles?.length === 1 ? principal.roles[0] : undefined;
  return { ...present({ role: role ?? only }), context: contextOf(stated, proven) };
}

function contextOf({ context: stated = {} }: Stated, { context, members }: ProvenCaller): JsonObject {
  const faults = members
    .filter((member) => Object.hasOwn(stated, member) && !isProven(member, stated, context))
    .map((member): Fault => ({
      path: `contextJson.${member}`,
      message: Object.hasOwn(context, member)
        ? "differs from the token in X-Patchbay-Caller"
        : "can only be stated by the token in X-Patchbay-Caller, which lacks it",
    }));
  if (faults.length > 0) throw invalid(faults);
  return { ...stated, ...context };
}

const isProven = (member: string, stated: JsonObject, context: JsonObject): boolean =>
  Object.hasOwn(context, member) && canonicalJson(stated[member]!) === canonicalJson(context[member]!);

const notOfCaller = (why: string): ServiceError =>
  new ServiceError("role_not_allowed", `${MESSAGES.role_not_allowed}: ${why}.`);
