import { z } from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import { Manifest } from "./manifest.ts";

const id = z.string().min(1).max(128);
const requestId = id.describe("Pairs the question with its answer.");

/** The first frame of a shadow runtime. Another type than `hello`, so that a control plane of an earlier version refuses it. */
export const ShadowFrame = z
  .object({
    type: z.literal("shadow"),
    version: z.int().describe("The same number as in `hello`."),
    instanceId: id.describe("Identifies the runtime, as in `hello`."),
    manifest: Manifest.describe("The candidate. It is never shown to a model and never serves."),
    sdk: z.string().max(100).describe("Name and version of the library, for the log."),
  })
  .describe(
    "Optional. The first frame of a shadow runtime, in place of `hello`. A control plane of an earlier version closes the connection with 4400.",
  );
export type ShadowFrame = z.infer<typeof ShadowFrame>;

/** The answer of a shadow runtime. */
export const JudgedFrame = z
  .object({
    type: z.literal("judged"),
    id: requestId,
    decision: z
      .enum(["allowed", "approval", "denied"])
      .optional()
      .describe("What the checks decide. Absent if they took longer than the function may."),
    rule: z.string().max(64).optional().describe("The rule that refused the call."),
  })
  .describe("The answer to `judge`.");
export type JudgedFrame = z.infer<typeof JudgedFrame>;

/** A question to a shadow runtime. */
export const JudgeFrame = z
  .object({
    type: z.literal("judge"),
    id: requestId,
    function: z.string().describe("Name of the function that was called."),
    arguments: z.custom<JsonValue>((value) => value !== undefined).describe("What the model wrote."),
    role: z.string().optional().describe("The role of the query, or the default role that it had."),
    context: z.custom<JsonObject>(isJsonObject).describe("The object of the query's `contextJson`."),
  })
  .describe("Asks a shadow runtime what its checks decide on an ended call. Sent to shadow runtimes only.");
export type JudgeFrame = z.infer<typeof JudgeFrame>;
