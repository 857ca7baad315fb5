import { z } from "zod";
import { caller, context } from "./caller.ts";
import { Manifest } from "./manifest.ts";
import { json, optionalText, text } from "./members.ts";

const id = z.string().min(1).max(128);
const requestId = id.describe("Pairs the question with its answer.");

/** A shadow runtime's first frame. It has another type than `hello`, so that an earlier control plane refuses it. */
export const ShadowFrame = z
  .object({
    type: z.literal("shadow"),
    version: z.int().describe("The same number as in `hello`."),
    instanceId: id.describe("Identifies the runtime, as in `hello`."),
    manifest: Manifest.describe("The candidate. It is never shown to a model and never serves."),
    sdk: z.string().max(100).describe("The library's name and version, for the log."),
  })
  .describe(
    "Optional. A shadow runtime's first frame, in place of `hello`. An earlier control plane closes the connection with 4400.",
  );
export type ShadowFrame = z.infer<typeof ShadowFrame>;

/** What a runtime's checks decide on a call. */
export const Judgement = z.object({
  decision: z
    .enum(["allowed", "approval", "denied"])
    .optional()
    .describe("What the checks decide. Absent if they took longer than the function may."),
  rule: z.string().max(64).optional().describe("The rule that refused the call."),
});
export type Judgement = z.infer<typeof Judgement>;

/** A shadow runtime's answer. */
export const JudgedFrame = z
  .object({ type: z.literal("judged"), id: requestId, ...Judgement.shape })
  .describe("The answer to `judge`.");
export type JudgedFrame = z.infer<typeof JudgedFrame>;

/** A question to a shadow runtime. */
export const JudgeFrame = z
  .object({
    type: z.literal("judge"),
    id: requestId,
    function: text("The called function's name."),
    arguments: json.describe("What the model wrote."),
    role: optionalText("The query's role, or the default role that it had."),
    context,
    caller,
  })
  .describe("Asks a shadow runtime what its checks decide on an ended call. Sent to shadow runtimes only.");
export type JudgeFrame = z.infer<typeof JudgeFrame>;
