import type { HookCall, HookVerdict, JsonObject } from "@patchbay/protocol";
import { createLog, type Log } from "../log.ts";
import type { Service } from "../service.ts";

/** A query, or a text of a model, as a hook sees it. */
export type TestHook = ({ query: string } | { answer: string; part?: "answer" | "thought" }) & {
  /** Without one the service's default role applies, as in a query. */
  role?: string;
  /** What a query's contextJson would hold. Default `{}`. */
  context?: JsonObject;
  /** Default: errors alone, as JSON lines on standard error. */
  log?: Log;
};

/**
 * Runs `beforeQuery` on a query, or `beforeAnswer` on a text of a model, without network and without a model. The verdict is
 * `failed` where the hook threw, was late or returned something else, or where the service has no such hook.
 *
 * ```ts
 * const { verdict } = await runHookAs(service, { role: "customer", answer: "Your card is 4111 1111 1111 1111." });
 * ```
 */
export async function runHookAs(service: Service, hook: TestHook): Promise<HookVerdict> {
  const { context = {}, log = createLog({ level: "error" }) } = hook;
  const role = hook.role || service.manifest.defaultRole;
  const of = { context, ...(role !== undefined && { role }) };
  const call: HookCall =
    "query" in hook
      ? { hook: "beforeQuery", query: hook.query, ...of }
      : { hook: "beforeAnswer", answer: hook.answer, part: hook.part ?? "answer", ...of };
  return service.runHook(call, { signal: new AbortController().signal, log });
}
