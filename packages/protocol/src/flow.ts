import { z } from "zod";
import { flag, optionalFlag, optionalText, optionalTexts, text, texts } from "./members.ts";

/** What a service does with a call that its data-flow rules do not allow, from the mildest to the strictest. */
export const FLOW_MODES = ["report", "ask", "deny"] as const;
export type FlowMode = (typeof FLOW_MODES)[number];

/** What a run may have received: what strangers can write, and what must not leave. */
export const FLOW_LABELS = ["untrusted", "secret"] as const;
export type FlowLabel = (typeof FLOW_LABELS)[number];

/** A function's data-flow rules, in the manifest. */
export const FlowRules = z.object({
  mode: z
    .enum(FLOW_MODES)
    .exactOptional()
    .describe("What happens to a call that the rules do not allow. Absent: nothing."),
  by: optionalTexts("The roles that may decide on an asked call. `caller`: the run's role."),
  returns: z
    .enum(["trusted", "untrusted"])
    .optional()
    .describe("`untrusted` if strangers can write into results. Absent: as `openWorld` says."),
  targets: z
    .record(z.string(), z.enum(["caller", "trusted", "any"]))
    .optional()
    .describe(
      "Arguments that say where a call acts. `caller`: the caller must have named the value; `trusted`: or a trusted result must have it.",
    ),
  sends: optionalTexts("Arguments that leave the owner's systems."),
  foreign: optionalFlag(
    "True if strangers wrote the name, the description or the schema, which every model with the function reads.",
  ),
  untrusted: optionalTexts("Paths in results that strangers can write, as the output schema labels them."),
  secret: optionalTexts("Paths in results that must not leave the owner's systems."),
  withheld: optionalFlag("True if no client gets a result before a `beforeAnswer` hook has allowed the answer."),
  verbs: optionalTexts("Words by which callers ask for the function, besides its name."),
});
export type FlowRules = z.infer<typeof FlowRules>;

/** Labels of a result: what strangers can write, and what must not leave. */
export const ResultLabels = z.object({
  untrusted: optionalTexts("Paths in the result that strangers can write, such as `[].body`; `$` for everything."),
  secret: optionalTexts("Paths in the result that must not leave the owner's systems."),
  withheld: optionalFlag("True if no client gets it before a `beforeAnswer` hook has allowed the answer."),
  tag: optionalText("The runtime's proof of the labels and the trusted values. Absent without a flow key."),
});
export type ResultLabels = z.infer<typeof ResultLabels>;

/** What an earlier result gives to a call: its labels, and its trusted values as digests. */
export const FlowEvidence = z.object({
  runId: text("The run of the result's call."),
  callId: text("The call that returned the result, as in its `call` frame."),
  functionName: text("Its name in the manifest when it was called."),
  untrusted: texts("As in the result's labels."),
  secret: texts("As in the result's labels."),
  asked: texts("Digests of the values in the arguments."),
  records: z
    .array(
      z.object({
        in: z.int().min(-1).describe("The place of the record around it; -1 for none."),
        values: texts("The first 16 characters of each value's SHA-256, in base64url."),
        parts: optionalTexts("The same for the words of longer values."),
      }),
    )
    .describe("The trusted values by record: the result itself, and each object in its lists."),
  tag: optionalText("The runtime's proof."),
});
export type FlowEvidence = z.infer<typeof FlowEvidence>;

/** What a call's run has seen before it, for the runtime's own decision. */
export const CallFlow = z.object({
  words: texts("What the caller wrote in the run and before it in the thread."),
  direct: optionalFlag("True if the caller wrote the arguments, without a model."),
  results: z.array(FlowEvidence).describe("Earlier results that have one of the call's values."),
  written: optionalTexts(
    "Those of the results' values that a run wrote after something that strangers can write: nothing trusts them.",
  ),
  tainted: flag("True once the run has received something that strangers can write."),
  secret: flag("True once the run has received a secret."),
  asks: flag("True if the control plane's own rules ask a person."),
});
export type CallFlow = z.infer<typeof CallFlow>;

/** Why data-flow rules do not allow a call. */
export const FlowFault = z.object({
  rule: z
    .enum(["target", "mention", "choice", "secret", "link"])
    .describe(
      "`target`: neither the caller nor a trusted result has the value. `mention`: the caller names it, and does not ask for this deed. `choice`: the caller did not choose it among trusted values. `secret`: the run has received a secret. `link`: the caller did not write the link.",
    ),
  member: text("The argument whose value the rule does not allow."),
  value: optionalText("The value's digest."),
});
export type FlowFault = z.infer<typeof FlowFault>;

/** Where the value comes from that data-flow rules do not allow: a result, or the model. */
export const FlowSource = z.union([
  z.object({
    toolCallId: text("The call whose result has the value."),
    toolName: text("Its function."),
    path: text("The place in the result, such as `[2].from`."),
  }),
  z.literal("model"),
]);
export type FlowSource = z.infer<typeof FlowSource>;

/** A fault as people see it. */
export const FlowNotice = FlowFault.omit({ value: true }).extend({
  source: FlowSource.describe("Where the value comes from; `model` if no result has it."),
});
export type FlowNotice = z.infer<typeof FlowNotice>;
