import type { JsonObject } from "@patchbay/protocol";
import { isService, type Service } from "../service.ts";
import { decide, type Decision } from "./decision.ts";
import { findLeaks } from "./leaks.ts";

/** Who calls, and with what. */
export interface AccessCase {
  role?: string;
  /** The arguments. May be left out where the role list alone decides. */
  input?: unknown;
  context?: JsonObject;
}

export interface MatcherResult {
  pass: boolean;
  message(): string;
}

/**
 * Matchers for `expect.extend` of vitest, jest or any runner of their form. No handler runs: the call goes through every check
 * and stops where the handler would begin. A call that proves nothing (no such function, arguments or a context that do not fit) is
 * an error for `toAllow` and `toDeny` alike, so that a misspelt test cannot pass.
 */
export const accessMatchers = {
  /** The role list and `authorize` let the call through. */
  async toAllow(service: unknown, functionName: string, access: AccessCase = {}): Promise<MatcherResult> {
    const { allowed, how } = await decided(service, functionName, access);
    const wanted = allowed ? "not to be allowed" : "to be allowed";
    return { pass: allowed, message: () => `expected ${describe(functionName, access)} ${wanted}, but ${how}` };
  },

  /** The role list or `authorize` refuses the call; `rule` says which of both it must be. */
  async toDeny(
    service: unknown,
    functionName: string,
    access: AccessCase & { rule?: "roles" | "authorize" } = {},
  ): Promise<MatcherResult> {
    const { allowed, rule, how } = await decided(service, functionName, access);
    const pass = !allowed && (access.rule === undefined || access.rule === rule);
    const by = access.rule === undefined ? "" : ` by ${access.rule}`;
    const wanted = pass ? `not to be denied${by}` : `to be denied${by}`;
    return { pass, message: () => `expected ${describe(functionName, access)} ${wanted}, but ${how}` };
  },

  /** None of the canaries (marked values that nobody may see) stands anywhere in a finished query, or in any other value. */
  toLeakNothing(received: unknown, canaries: string | readonly string[]): MatcherResult {
    const marks = typeof canaries === "string" ? [canaries] : canaries;
    if (marks.length === 0 || marks.includes(""))
      throw new TypeError("toLeakNothing: give the marked values to look for, none of them empty.");
    const leaks = findLeaks(received, marks);
    const places = leaks.map(({ canary, path }) => `  ${JSON.stringify(canary)} in ${path}`).join("\n");
    return {
      pass: leaks.length === 0,
      message: () =>
        leaks.length === 0
          ? "expected a marked value to be found, but there is none"
          : `marked values leaked:\n${places}`,
    };
  },
};

async function decided(
  service: unknown,
  functionName: string,
  access: AccessCase,
): Promise<Decision & { how: string }> {
  if (!isService(service)) throw new TypeError("expect() was given something that defineService() did not return.");
  if (!service.manifest.functions.some(({ name }) => name === functionName))
    throw new TypeError(`${service.manifest.name} has no function ${JSON.stringify(functionName)}.`);
  const decision = await decide(service, { ...access, functionName });
  const { allowed, rule, outcome } = decision;
  if (allowed) return { ...decision, how: "every rule let it through" };
  const text = outcome.ok ? "" : outcome.message;
  if (rule !== "roles" && rule !== "authorize")
    throw new TypeError(`${describe(functionName, access)} proves nothing: ${text}`);
  return {
    ...decision,
    how: rule === "roles" ? `its roles are ${rolesOf(service, functionName)}` : `authorize said: ${text}`,
  };
}

function rolesOf(service: Service, functionName: string): string {
  const roles = service.manifest.functions.find(({ name }) => name === functionName)?.roles;
  return typeof roles === "string" ? roles : (roles ?? []).join(", ");
}

function describe(functionName: string, { role }: AccessCase): string {
  return `${functionName} ${role === undefined ? "without a role" : `as ${role}`}`;
}
