import { type HookCall, type HookVerdict, isJsonObject, LIMITS } from "@patchbay/protocol";
import { parseContext } from "./context.ts";
import { isTimeoutError, withDeadline } from "./deadline.ts";
import { createReference, type Log } from "./log.ts";
import type { Parse } from "./schema/parser.ts";

interface OfQuery<Context> {
  /** The role of the query, or the service's default role; undefined when there is neither. */
  readonly role: string | undefined;
  readonly context: Context;
  /** Aborted after 10 seconds and when the runtime stops; whatever the hook returns after that is dropped. */
  readonly signal: AbortSignal;
}

/** What a {@link QueryHook} decides on. */
export interface QueryReview<Context> extends OfQuery<Context> {
  readonly query: string;
}

/** What an {@link AnswerHook} decides on. */
export interface AnswerReview<Context> extends OfQuery<Context> {
  /** A text of the model; in a conversation with structured answers, the value as fenced JSON. */
  readonly answer: string;
  /** `answer` for the text that answers the query; `thought` for reasoning, a plan, and what the model writes next to calls. */
  readonly part: "answer" | "thought";
}

/** Ends the query with code `refused`; the caller reads the text, which has 1 to 10,000 characters. */
export interface Refused {
  readonly refuse: string;
}

/** The text that is shown and kept. Empty leaves a `thought` out; an `answer` cannot be empty. */
export interface Replaced {
  readonly replace: string;
}

/** Decides on a query: undefined lets it through. Anything else that is not a refusal, a throw included, ends the query with `internal`. */
export type QueryHook<Context> = (review: QueryReview<Context>) => Refused | undefined | Promise<Refused | undefined>;

/**
 * Decides on a text of the model: undefined lets it through. Anything else that is neither a refusal nor a replacement, a throw
 * included, ends the query with `internal`.
 */
export type AnswerHook<Context> = (
  review: AnswerReview<Context>,
) => Refused | Replaced | undefined | Promise<Refused | Replaced | undefined>;

/** The hooks of a service. The types of a service tie them to the output of its context schema. */
export interface Hooks {
  parse: Parse | undefined;
  beforeQuery: QueryHook<never> | undefined;
  beforeAnswer: AnswerHook<never> | undefined;
}

/** Runs one hook. What it decides counts only when it is in time. Never rejects. */
export async function runHook(
  hooks: Hooks,
  call: HookCall,
  { signal, timeoutMs, log }: { signal: AbortSignal; timeoutMs: number; log: Log },
): Promise<HookVerdict> {
  // The texts stay out of the log: they are what a hook may be there to withhold.
  const failed = (message: string, fields: Record<string, unknown>): HookVerdict => {
    const reference = createReference();
    log.error(message, { hook: call.hook, reference, ...fields });
    return { verdict: "failed", reference };
  };
  return withDeadline(
    { timeoutMs, signal },
    async (inTime) => {
      try {
        const decided = verdictOf(call, await decide(hooks, call, inTime));
        return "fault" in decided ? failed("hook returned something else", { fault: decided.fault }) : decided;
      } catch (error) {
        return failed(inTime.aborted ? "hook failed after its time was over" : "hook failed", { error });
      }
    },
    (reason) =>
      isTimeoutError(reason) ? failed("hook was late", { timeoutMs }) : failed("hook was stopped", { reason }),
  );
}

async function decide(hooks: Hooks, call: HookCall, signal: AbortSignal): Promise<unknown> {
  const parsed = await parseContext(hooks.parse, call.context);
  if (!parsed.ok) throw new TypeError("the context of the query does not fit the service");
  const of = { role: call.role, context: parsed.value as never, signal };
  if (call.hook === "beforeQuery") return await need(hooks.beforeQuery)({ query: call.query, ...of });
  return await need(hooks.beforeAnswer)({ answer: call.answer, part: call.part, ...of });
}

/** The function set that the control plane knows has the hook, and another set serves now. */
function need<T>(hook: T | undefined): T {
  if (hook === undefined) throw new TypeError("the service has no such hook");
  return hook;
}

/** Strict, so that a misspelt member never lets a text through. */
function verdictOf(call: HookCall, returned: unknown): HookVerdict | { fault: string } {
  if (returned === undefined) return { verdict: "passed" };
  const [member, ...more] = isJsonObject(returned) ? Object.keys(returned) : [];
  const text = isJsonObject(returned) && member !== undefined ? returned[member] : undefined;
  if (more.length > 0 || typeof text !== "string") return { fault: `not undefined or an object with one text` };
  if (member === "refuse") return refusal(text);
  if (member === "replace" && call.hook === "beforeAnswer") return replacement(text, call.part);
  return { fault: `there is no member ${JSON.stringify(member?.slice(0, 64))}` };
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
