import { randomUUID } from "node:crypto";
import {
  LIMITS,
  type CallerIdentity,
  type CallerWithToken,
  type CallOutcome,
  type HookCall,
  type HookVerdict,
} from "@patchbay/protocol";
import { type JsonObject, type JsonValue, present } from "@patchbay/kit";
import { toJson } from "@patchbay/runtime/json";
import { createLog, type Log } from "@patchbay/runtime/log";
import type { Service } from "@patchbay/runtime/service";

/** One function call, and its caller. */
export interface TestCall<Role extends string = string> {
  functionName: string;
  /** The arguments, as a model would write them. Default `{}`. */
  input?: unknown;
  /** Default: the service's default role, as in a query. */
  role?: Role;
  /** The object that a query's `contextJson` would contain. Default `{}`. */
  context?: JsonObject;
  /** What a token would prove about the query's caller, and for functions that need it the token. Default: nothing. */
  caller?: CallerWithToken;
  signal?: AbortSignal;
  onProgress?: (data: JsonValue) => void;
  /** Default: errors only, as JSON lines on standard error. */
  log?: Log;
}

/**
 * Runs one call through a connected runtime's checks, without a network and without a model. Refusals and failures are
 * outcomes: `code` names the kind, `rule` the rule that refused.
 *
 * ```ts
 * const outcome = await callAs(service, { role: "customer", functionName: "cancel_order", input: { orderId: "42" } });
 * ```
 */
export async function callAs<Role extends string>(
  service: Service<Role>,
  call: TestCall<NoInfer<Role>>,
): Promise<CallOutcome> {
  const { functionName, input = {}, context = {}, caller, signal = new AbortController().signal, onProgress } = call;
  const role = call.role || service.manifest.defaultRole;
  return service.invoke(
    {
      functionName,
      arguments: toJson(input),
      context,
      threadId: "thr_test",
      runId: "run_test",
      callId: `call_${randomUUID()}`,
      attempt: 1,
      timeoutMs: LIMITS.functionTimeoutMaxMs,
      // The test writes the arguments, so data-flow rules trust them.
      flow: { words: [], results: [], tainted: false, secret: false, asks: false, direct: true },
      ...present({ role, caller }),
    },
    { signal, log: call.log ?? createLog({ level: "error" }), ...(onProgress && { onProgress }) },
  );
}

/** A hook's input (a query, or a model text) and its caller. */
export type TestHook<Role extends string = string> = (
  | { query: string }
  | { answer: string; part?: "answer" | "thought" }
) & {
  /** Default: the service's default role, as in a query. */
  role?: Role;
  /** The object that a query's `contextJson` would contain. Default `{}`. */
  context?: JsonObject;
  /** What a token would prove about the query's caller. Default: nothing. */
  caller?: CallerIdentity;
  /** Default: errors only, as JSON lines on standard error. */
  log?: Log;
};

/**
 * Runs `beforeQuery` on a query, or `beforeAnswer` on a model text, without a network and without a model. The verdict
 * is `failed` if the hook threw, timed out or returned something else, or if the service has no such hook.
 *
 * ```ts
 * const { verdict } = await runHookAs(service, { role: "customer", answer: "Your card is 4111 1111 1111 1111." });
 * ```
 */
export async function runHookAs<Role extends string>(
  service: Service<Role>,
  hook: TestHook<NoInfer<Role>>,
): Promise<HookVerdict> {
  const { context = {}, caller, log = createLog({ level: "error" }) } = hook;
  const role = hook.role || service.manifest.defaultRole;
  const of = { context, ...present({ role, caller }) };
  const call: HookCall =
    "query" in hook
      ? { hook: "beforeQuery", query: hook.query, ...of }
      : { hook: "beforeAnswer", answer: hook.answer, part: hook.part ?? "answer", ...of };
  return service.runHook(call, { signal: new AbortController().signal, log });
}
