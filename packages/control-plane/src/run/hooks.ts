import { type HookCall, type HookVerdict, LIMITS, type ServiceHooks } from "@patchbay/protocol";
import type { FunctionGateway } from "../ports/function-gateway.ts";
import type { RunRecord } from "../ports/records.ts";
import { RunFailure } from "./run-failure.ts";

type Hook = HookCall["hook"];
type OfHook<H extends Hook> = Omit<Extract<HookCall, { hook: H }>, "hook">;
type Decided = Exclude<HookVerdict, { verdict: "failed" }>;

interface HookDeps {
  gateway: Pick<FunctionGateway, "runHook">;
  /** Time until the run's deadline. */
  remainingMs?: () => number;
}

/** Has every service with a `beforeQuery` see the query. Throws `RunFailure` where one refuses it, or does not decide. */
export async function checkQuery(
  agentId: string,
  hooks: readonly ServiceHooks[],
  asked: OfHook<"beforeQuery">,
  deps: HookDeps,
  signal: AbortSignal,
): Promise<void> {
  const call: HookCall = { hook: "beforeQuery", ...asked };
  const decisions = hooks
    .filter((one) => one.beforeQuery)
    .map((service) => askHook({ agentId, service, call, text: asked.query }, deps, signal));
  const failures = (await Promise.allSettled(decisions)).flatMap((one) =>
    one.status === "rejected" ? [one.reason as unknown] : [],
  );
  // A refusal is the service's answer to the query; that another hook failed says less.
  const [failure] = failures.toSorted((a, b) => Number(isRefusal(b)) - Number(isRefusal(a)));
  if (failure !== undefined) throw failure;
}

const isRefusal = (error: unknown): boolean => error instanceof RunFailure && error.code === "refused";

/** A text of the model. */
export interface Written {
  text: string;
  part: "answer" | "thought";
}

/**
 * The texts as the services let them be seen: each `beforeAnswer` is given what the one before it returned. Throws `RunFailure`
 * where a hook refuses, or does not decide.
 */
export async function checkTexts(
  run: OfRun,
  hooks: readonly ServiceHooks[],
  texts: readonly Written[],
  deps: HookDeps,
  signal: AbortSignal,
): Promise<string[]> {
  const checks = texts.map(async ({ text, part }) => {
    let shown = text;
    for (const service of hooks)
      if (shown.trim() !== "") shown = await checkText(run, service, { text: shown, part }, deps, signal);
    return shown;
  });
  // All are waited for, so that of several failures it is always the first one that ends the run.
  await Promise.allSettled(checks);
  return await inOrder(checks);
}

type OfRun = Pick<RunRecord, "agentId" | "role" | "request">;

async function inOrder<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const values: T[] = [];
  for (const promise of promises) values.push(await promise);
  return values;
}

async function checkText(
  { agentId, role, request: { context } }: OfRun,
  service: ServiceHooks,
  { text, part }: Written,
  deps: HookDeps,
  signal: AbortSignal,
): Promise<string> {
  const call: HookCall = { hook: "beforeAnswer", answer: text, part, context, ...(role !== undefined && { role }) };
  const decided = await askHook({ agentId, service, call, text }, deps, signal);
  if (decided.verdict !== "replaced") return text;
  if (part === "thought" || decided.text.trim() !== "") return decided.text;
  throw undecided(service, call.hook, "it replaced the answer with an empty text");
}

async function askHook(
  { agentId, service, call, text }: { agentId: string; service: ServiceHooks; call: HookCall; text: string },
  { gateway, remainingMs = () => LIMITS.hookTimeoutMs }: HookDeps,
  signal: AbortSignal,
): Promise<Decided> {
  const sizeBytes = Buffer.byteLength(JSON.stringify(text));
  if (sizeBytes > LIMITS.hookTextBytes)
    throw undecided(service, call.hook, `${sizeBytes} bytes exceed the limit of ${LIMITS.hookTextBytes} for a hook`);
  const timeoutMs = Math.max(0, Math.min(LIMITS.hookTimeoutMs, Math.ceil(remainingMs())));
  const result = await gateway.runHook(agentId, service.manifestHash, { call, timeoutMs }, { signal });
  if (!result) throw undecided(service, call.hook, "its runtime is not connected or did not answer in time");
  if (result.verdict === "failed")
    throw undecided(service, call.hook, `the log of its runtime has the reason (reference ${result.reference})`);
  if (result.verdict === "refused")
    throw new RunFailure("refused", result.text, { detail: { hook: call.hook, service: service.service } });
  return result;
}

/** What the runtime cannot tell a caller is in its log, under the reference. */
export function undecided({ service }: Pick<ServiceHooks, "service">, hook: Hook, reason: string): RunFailure {
  return new RunFailure("internal", `The ${hook} hook of service ${service} failed: ${reason}`, {
    cause: reason,
    detail: { hook, service },
  });
}
