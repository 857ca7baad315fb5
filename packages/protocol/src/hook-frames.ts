import { z } from "zod";
import { caller, context, role } from "./caller.ts";
import { text } from "./members.ts";

/**
 * A hook's input: a query, or a text from the model. `part` is `answer` for the text that answers the query, and
 * `thought` for reasoning, the plan and texts next to function calls.
 */
export const HookCall = z.discriminatedUnion("hook", [
  z.object({ hook: z.literal("beforeQuery"), query: text("The caller's text."), role, context, caller }),
  z.object({
    hook: z.literal("beforeAnswer"),
    answer: text("A model text; a structured answer is fenced JSON."),
    part: z
      .enum(["answer", "thought"])
      .describe("`answer` for the text that answers the query, `thought` for every other model text."),
    role,
    context,
    caller,
  }),
]);
export type HookCall = z.infer<typeof HookCall>;

/** A hook's decision. `failed`: it threw, timed out or returned something else; the reference is in the runtime's log. */
export const HookVerdict = z.discriminatedUnion("verdict", [
  z.object({ verdict: z.literal("passed") }),
  z.object({
    verdict: z.literal("replaced"),
    text: text("Shown and stored in place of the model's text."),
  }),
  z.object({ verdict: z.literal("refused"), text: z.string().min(1).describe("Sent to the caller as the reason.") }),
  z.object({
    verdict: z.literal("failed"),
    reference: text("Names the line in the runtime's log that has the error."),
  }),
]);
export type HookVerdict = z.infer<typeof HookVerdict>;
