import type { JsonObject } from "@patchbay/kit";
import type { Rule } from "@patchbay/runtime/admission";
import { toJson } from "@patchbay/runtime/json";
import { isService } from "@patchbay/runtime/service";
import { findLeaks } from "./canaries.ts";

/** A call's caller and arguments. */
export interface AccessCase {
  role?: string;
  /** The arguments. Optional if the role list decides without them. */
  input?: unknown;
  context?: JsonObject;
}

/** The result that `expect.extend` expects from a matcher. `message` is a failed assertion's text, negated or not. */
export interface MatcherResult {
  pass: boolean;
  message(): string;
}

/**
 * Matchers for `expect.extend` in vitest, jest and compatible runners. The call goes through every check and stops
 * before the handler. A call that proves nothing (an unknown function, invalid arguments or context) throws for
 * `toAllow` and `toDeny`, so a test with a typing error cannot pass.
 */
export const accessMatchers = {
  /** Passes if the role list and `authorize` allow the call. */
  async toAllow(service: unknown, functionName: string, access: AccessCase = {}): Promise<MatcherResult> {
    const { allowed, how } = await decided(service, functionName, access);
    const wanted = allowed ? "not to be allowed" : "to be allowed";
    return { pass: allowed, message: () => `expected ${describe(functionName, access)} ${wanted}, but ${how}` };
  },

  /** Passes if the role list or `authorize` denies the call. `rule` requires this one. */
  async toDeny(
    service: unknown,
    functionName: string,
    access: AccessCase & { rule?: "roles" | "authorize" } = {},
  ): Promise<MatcherResult> {
    const { allowed, by, rule, how } = await decided(service, functionName, access);
    const pass = !allowed && by === undefined && (access.rule === undefined || access.rule === rule);
    const named = access.rule === undefined ? "" : ` by ${access.rule}`;
    const wanted = pass ? `not to be denied${named}` : `to be denied${named}`;
    return { pass, message: () => `expected ${describe(functionName, access)} ${wanted}, but ${how}` };
  },

  /** Passes if every rule allows the call and a person must approve it. `by` requires that this role may. */
  async toNeedApproval(
    service: unknown,
    functionName: string,
    access: AccessCase & { by?: string } = {},
  ): Promise<MatcherResult> {
    const { by, how } = await decided(service, functionName, access);
    const pass = by !== undefined && (access.by === undefined || by.includes(access.by));
    const of = access.by === undefined ? "" : ` of ${access.by}`;
    const wanted = pass ? `not to need an approval${of}` : `to need an approval${of}`;
    return { pass, message: () => `expected ${describe(functionName, access)} ${wanted}, but ${how}` };
  },

  /** Passes if no canary (a value that must not leak) is anywhere in a finished query, or in any other value. */
  toLeakNothing(received: unknown, canaries: string | readonly string[]): MatcherResult {
    const wanted = typeof canaries === "string" ? [canaries] : canaries;
    if (wanted.length === 0 || wanted.includes(""))
      throw new TypeError("toLeakNothing: give at least one canary, and no empty one.");
    const leaks = findLeaks(received, wanted);
    const places = leaks.map(({ canary, path }) => `  ${JSON.stringify(canary)} in ${path}`).join("\n");
    return {
      pass: leaks.length === 0,
      message: () =>
        leaks.length === 0 ? "expected a canary to leak, but none was found" : `canaries leaked:\n${places}`,
    };
  },
};

interface Decision {
  allowed: boolean;
  /** Who may approve the call, if every rule allows it and it needs an approval. */
  by?: readonly string[];
  rule?: Rule;
  how: string;
}

async function decided(service: unknown, functionName: string, access: AccessCase): Promise<Decision> {
  if (!isService(service)) throw new TypeError("expect() takes a service that defineService() returned.");
  const definition = service.manifest.functions.find(({ name }) => name === functionName);
  if (!definition) throw new TypeError(`${service.manifest.name} has no function ${JSON.stringify(functionName)}.`);
  const { input = {}, role = service.manifest.defaultRole, context = {} } = access;
  const decision = await service.check({ functionName, arguments: toJson(input), role, context });
  if (decision.ok) return { allowed: true, how: "every rule allowed it" };
  const { rule, outcome } = decision;
  if (outcome.code === "approval_required" && definition.approval)
    return {
      allowed: false,
      by: definition.approval.by,
      how: `${definition.approval.by.join(" or ")} must approve it: ${outcome.message}`,
    };
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

type Given<Name extends keyof typeof accessMatchers> =
  Parameters<(typeof accessMatchers)[Name]> extends [unknown, ...infer Rest] ? Rest : never;

/** The matchers as methods on `expect` results. */
export interface AccessAssertions {
  toAllow(...given: Given<"toAllow">): Promise<void>;
  toDeny(...given: Given<"toDeny">): Promise<void>;
  toNeedApproval(...given: Given<"toNeedApproval">): Promise<void>;
  toLeakNothing(...given: Given<"toLeakNothing">): void;
}

// Types only, so that this package does not need vitest. Each vitest release declares its own matcher interface with
// other type parameters, but all accept the methods from this global one.
declare global {
  namespace Chai {
    interface Assertion extends AccessAssertions {}
  }
}
