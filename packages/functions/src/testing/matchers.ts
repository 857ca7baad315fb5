import type { JsonObject } from "@patchbay/protocol";
import type { Rule } from "../admission.ts";
import { toJson } from "../json.ts";
import { isService } from "../service.ts";
import { findLeaks } from "./leaks.ts";

/** Who calls, and with what. */
export interface AccessCase {
  role?: string;
  /** The arguments. May be left out where the role list alone decides. */
  input?: unknown;
  context?: JsonObject;
}

/** What `expect.extend` asks of a matcher; `message` is shown when the assertion, negated or not, fails. */
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

interface Decision {
  allowed: boolean;
  rule?: Rule;
  how: string;
}

async function decided(service: unknown, functionName: string, access: AccessCase): Promise<Decision> {
  if (!isService(service)) throw new TypeError("expect() was given something that defineService() did not return.");
  const definition = service.manifest.functions.find(({ name }) => name === functionName);
  if (!definition) throw new TypeError(`${service.manifest.name} has no function ${JSON.stringify(functionName)}.`);
  const { input = {}, role = service.manifest.defaultRole, context = {} } = access;
  const decision = await service.check({ functionName, arguments: toJson(input), role, context });
  if (decision.ok) return { allowed: true, how: "every rule let it through" };
  const { rule, outcome } = decision;
  if (rule !== "roles" && rule !== "authorize")
    throw new TypeError(`${describe(functionName, access)} proves nothing: ${outcome.message}`);
  const { roles } = definition;
  const listed = typeof roles === "string" ? roles : roles.join(", ");
  return {
    allowed: false,
    rule,
    how: rule === "roles" ? `its roles are ${listed}` : `authorize said: ${outcome.message}`,
  };
}

function describe(functionName: string, { role }: AccessCase): string {
  return `${functionName} ${role === undefined ? "without a role" : `as ${role}`}`;
}
