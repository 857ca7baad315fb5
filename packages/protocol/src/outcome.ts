import { z } from "zod";
import { CALL_ERROR_CODES } from "./codes.ts";
import { FlowFault, ResultLabels } from "./flow.ts";
import { LIMITS } from "./limits.ts";
import { json, optionalText, optionalTexts, text } from "./members.ts";

const input = json
  .optional()
  .describe(
    "The arguments that the handler received, if they differ from the call's: with defaults, without dropped members.",
  );

const flowFault = FlowFault.optional().describe(
  "Why the data-flow rules do not allow the call, also where they only report it. Not sent to callers.",
);
const labels = ResultLabels.optional().describe("What the result is. Absent for one without labels and proof.");

/** One function call's outcome, as the runtime reports it and the log stores it. */
export const CallOutcome = z.discriminatedUnion("ok", [
  z.object({
    ok: z.literal(true),
    value: json.describe(`What the handler returned: at most ${LIMITS.resultBytes} bytes, else \`result_too_large\`.`),
    redacted: optionalTexts(
      "Paths to restricted fields that the runtime removed from the value, because the role may not see them.",
    ),
    flow: labels,
    flowFault,
    input,
  }),
  z.object({
    ok: z.literal(false),
    code: z
      .enum(CALL_ERROR_CODES)
      .describe("Which failure it was. `call_limit` and `repeated_call` from a runtime count as `function_failed`."),
    message: text("Why the call failed, for the model and the caller."),
    rule: optionalText(
      "The rule that refused the call: `unknown`, `roles`, `context`, `input`, `authorize`, `flow`, `approval`, `hook` or `caller_token`. Not sent to callers.",
    ),
    retryAfterMs: z
      .number()
      .nonnegative()
      .optional()
      .describe(
        "Set if the handler failed in a way that the function retries: milliseconds until the next attempt may be delivered.",
      ),
    flow: labels,
    flowFault,
    stillRuns: z
      .literal(true)
      .optional()
      .describe(
        "Set if the handler had not returned when its call timed out or was cancelled: the call keeps its `concurrency` permit.",
      ),
    input,
  }),
]);
export type CallOutcome = z.infer<typeof CallOutcome>;

/** True for an outcome that ends one attempt and not the call: another delivery may follow. */
export const isProvisional = (outcome: CallOutcome): boolean =>
  !outcome.ok && (outcome.retryAfterMs !== undefined || outcome.code === "approval_required");

/** An error from the owner's code, for console members only. */
export const ErrorReport = z.object({
  name: z.string().max(LIMITS.labelUnits).describe("The error's kind, such as `TypeError`."),
  message: z
    .string()
    .max(LIMITS.errorMessageUnits)
    .describe("What the owner's code threw, as it is in the runtime's log."),
  stack: z
    .string()
    .max(LIMITS.errorStackUnits)
    .describe("Where it was thrown, with its causes' stacks; empty if it has none."),
});
export type ErrorReport = z.infer<typeof ErrorReport>;
