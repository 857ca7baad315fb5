import { type CallerIdentity, type HookCall, type HookVerdict, LIMITS } from "@patchbay/protocol";
import { isJsonObject } from "@patchbay/kit";
import { parseContext } from "./context.ts";
import { isTimeoutError, withDeadline } from "./deadline.ts";
import { createReference, type Log } from "./log.ts";
import type { Parse } from "./schema/schema.ts";

/** What every hook receives about its query. */
interface ReviewOfQuery<Context, Role extends string = string> {
  /** The query's role, or the service's default role. Undefined without both. */
  readonly role: Role | undefined;
  /** The object in the query's `contextJson`, as the service's schema parsed it; `{}` if the query had none. */
  readonly context: Context;
  /** What a token proved about the query's caller. Undefined without a token. */
  readonly caller: CallerIdentity | undefined;
  /** Aborted after 10 seconds and when the runtime stops. A result after that is dropped. */
  readonly signal: AbortSignal;
}

/** The query that a {@link QueryHook} decides on. */
export interface QueryReview<Context, Role extends string = string> extends ReviewOfQuery<Context, Role> {
  /** The caller's text, at most 100,000 UTF-16 units. */
  readonly query: string;
}

/** The text that an {@link AnswerHook} decides on. */
export interface AnswerReview<Context, Role extends string = string> extends ReviewOfQuery<Context, Role> {
  /** A text from the model. A structured answer is fenced JSON. */
  readonly answer: string;
  /** `answer` for the text that answers the query; `thought` for reasoning, a plan, and texts next to function calls. */
  readonly part: "answer" | "thought";
}

/** The call that a {@link CallHook} decides on: every other rule has allowed it, and its handler runs next. */
export interface CallReview<Context, Role extends string = string> extends ReviewOfQuery<Context, Role> {
  /** The name as in the manifest: for a tool of another server, the one that the owner gave it. */
  readonly functionName: string;
  /** The arguments that the handler receives. */
  readonly input: unknown;
  /** What the control plane says about the run. Undefined for a service without `flows`. */
  readonly labels: CallLabels | undefined;
}

/** What a call's run has seen before it. Without a word from the control plane, the call counts as tainted and secret. */
export interface CallLabels {
  /** True once the run has received something that strangers can write. */
  readonly tainted: boolean;
  /** True once the run has received a secret. */
  readonly secret: boolean;
  /** True if the caller wrote the arguments, without a model. */
  readonly direct: boolean;
}

/**
 * Ends the query with code `refused`, or the call with `denied`. The caller receives the text, which must have 1 to
 * 10,000 characters.
 */
export interface Refused {
  readonly refuse: string;
}

/** Replaces the text that is shown and stored. An empty text removes a `thought`; an `answer` must not be empty. */
export interface Replaced {
  readonly replace: string;
}

/** Decides on a query: undefined allows it. Any other result except a refusal, and an exception, ends the query with `internal`. */
export type QueryHook<Context, Role extends string = string> = (
  review: QueryReview<Context, Role>,
) => Refused | undefined | Promise<Refused | undefined>;

/**
 * Decides on a model text: undefined allows it. Any other result except a refusal or a replacement, and an exception,
 * ends the query with `internal`.
 */
export type AnswerHook<Context, Role extends string = string> = (
  review: AnswerReview<Context, Role>,
) => Refused | Replaced | undefined | Promise<Refused | Replaced | undefined>;

/** Decides on a call: undefined runs it. Any other result except a refusal, and an exception, refuses it. */
export type CallHook<Context, Role extends string = string> = (
  review: CallReview<Context, Role>,
) => Refused | undefined | Promise<Refused | undefined>;

/** A service's hooks, and their context parser. */
export interface Hooks {
  parse: Parse | undefined;
  beforeQuery: QueryHook<never> | undefined;
  beforeAnswer: AnswerHook<never> | undefined;
}

/** Runs one hook. A decision after the timeout does not count. Never rejects. */
export const runHook = (hooks: Hooks, call: HookCall, options: RunOptions): Promise<HookVerdict> =>
  decideWith(call, options, (signal) => decide(hooks, call, signal));

/** Runs the hook on a call, as {@link runHook} does. */
export const runCallHook = (
  hook: CallHook<never>,
  review: Omit<CallReview<never>, "signal">,
  options: RunOptions,
): Promise<HookVerdict> =>
  decideWith({ hook: "beforeCall" }, options, async (signal) => await hook({ ...review, signal }));

interface RunOptions {
  signal: AbortSignal;
  timeoutMs: number;
  log: Log;
}

type Decided = HookCall | { hook: "beforeCall" };

async function decideWith(
  call: Decided,
  { signal, timeoutMs, log }: RunOptions,
  decide: (signal: AbortSignal) => Promise<unknown>,
): Promise<HookVerdict> {
  // The texts stay out of the log, because the hook may exist to withhold them.
  const failed = (message: string, fields: Record<string, unknown>): HookVerdict => {
    const reference = createReference();
    log.error(message, { hook: call.hook, reference, ...fields });
    return { verdict: "failed", reference };
  };
  return withDeadline(
    { timeoutMs, signal },
    async (inTime) => {
      try {
        const decided = verdictOf(call, await decide(inTime));
        return "fault" in decided ? failed("hook returned an invalid value", { fault: decided.fault }) : decided;
      } catch (error) {
        return failed(inTime.aborted ? "hook failed after its timeout" : "hook failed", { error });
      }
    },
    (reason) =>
      isTimeoutError(reason) ? failed("hook timed out", { timeoutMs }) : failed("hook was stopped", { reason }),
  );
}

async function decide(hooks: Hooks, call: HookCall, signal: AbortSignal): Promise<unknown> {
  const parsed = await parseContext(hooks.parse, call.context);
  if (!parsed.ok) throw new TypeError("the context of the query does not match the service's schema");
  const { role, caller } = call;
  const of = { role, caller, context: parsed.value as never, signal };
  if (call.hook === "beforeQuery") return await need(hooks.beforeQuery)({ query: call.query, ...of });
  return await need(hooks.beforeAnswer)({ answer: call.answer, part: call.part, ...of });
}

/** A hook may be missing if the control plane sent the frame for an older function set. */
function need<T>(hook: T | undefined): T {
  if (hook === undefined) throw new TypeError("the service has no such hook");
  return hook;
}

/** Strict, so that a misspelt property never allows a text. */
function verdictOf(call: Decided, returned: unknown): HookVerdict | { fault: string } {
  if (returned === undefined) return { verdict: "passed" };
  const [member, ...more] = isJsonObject(returned) ? Object.keys(returned) : [];
  const text = isJsonObject(returned) && member !== undefined ? returned[member] : undefined;
  if (more.length > 0 || typeof text !== "string") return { fault: "not undefined and not an object with one text" };
  if (member === "refuse") return refusal(text);
  if (member === "replace" && call.hook === "beforeAnswer") return replacement(text, call.part);
  return { fault: `unknown property ${JSON.stringify(member?.slice(0, 64))}` };
}

function refusal(text: string): HookVerdict | { fault: string } {
  if (text.trim() === "") return { fault: "the refusal has no text" };
  if (text.length <= LIMITS.refusalUnits) return { verdict: "refused", text };
  return { fault: `a refusal of ${text.length} characters exceeds the limit of ${LIMITS.refusalUnits}` };
}

function replacement(text: string, part: "answer" | "thought"): HookVerdict | { fault: string } {
  if (text.trim() === "" && part === "answer") return { fault: "an answer cannot be replaced with an empty text" };
  const sizeBytes = Buffer.byteLength(JSON.stringify(text));
  if (sizeBytes <= LIMITS.hookTextBytes) return { verdict: "replaced", text };
  return { fault: `a replacement of ${sizeBytes} bytes exceeds the limit of ${LIMITS.hookTextBytes}` };
}
