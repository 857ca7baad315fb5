import type { FunctionManifest, Manifest, Roles } from "@patchbay/protocol";

interface Denied {
  functionName: string;
  role: string | undefined;
  /** What refused it. */
  rule: string;
  /** What the caller was told. */
  message: string;
}

/** Why a call was refused, in a sentence for the owner of the functions; it names what callers do not learn. */
export function whyDenied({ functionName, role, rule, message }: Denied, manifest: Manifest | undefined): string {
  const one = manifest?.functions.find(({ name }) => name === functionName);
  const subject = role === undefined ? "a query without a role" : `role ${role}`;
  if (rule === "unknown") return `The function set of this query has no function ${functionName}.`;
  if (rule === "roles")
    return `${listOf(functionName, one)} does not name ${subject}: the function was neither shown to the model nor run.`;
  if (rule === "context") return `The context does not fit what the service expects: ${message}`;
  const refused = rule === "input" ? "the arguments do not fit its schema" : "its authorize check refused the call";
  return `${listOf(functionName, one)} lets ${subject} call it, but ${refused}: ${message}`;
}

function listOf(functionName: string, one: FunctionManifest | undefined): string {
  if (!one) return `The role list of ${functionName}`;
  return `The role list of ${functionName} (${listRoles(one.roles)})`;
}

const ROLES_IN_A_SENTENCE = 10;

/** A role list as a part of a sentence. A long one is cut: sentences are repeated for each call of a run. */
function listRoles(roles: Roles): string {
  if (roles === "everyone") return roles;
  if (roles.length === 0) return "empty";
  const rest = roles.length - ROLES_IN_A_SENTENCE;
  const named = roles.slice(0, ROLES_IN_A_SENTENCE).join(", ");
  return rest > 0 ? `${named} and ${rest} more` : named;
}
