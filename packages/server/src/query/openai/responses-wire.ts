import { LIMITS, optional, ResponseSchema, textUpTo } from "@patchbay/protocol";
import { z } from "zod";
import { EFFORTS, Part, warnings } from "./wire.ts";

const InputItem = z.looseObject({
  type: optional(z.string()).describe("`message` or absent; items of other types are ignored."),
  role: optional(z.enum(["user", "assistant", "system", "developer"])).describe("Who wrote the message."),
  content: optional(z.union([z.string(), z.array(Part)])).describe("A text, or parts with texts."),
  id: optional(z.string()).describe("Of an `item_reference`: an item of an earlier response."),
});
export type InputItem = z.infer<typeof InputItem>;

const TextFormat = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({ type: z.literal("json_object") }),
  z.object({ type: z.literal("json_schema"), schema: ResponseSchema }),
]);

/** Responses body. Unlisted members have no effect. */
export const ResponsesRequest = z.object({
  model: z.string().describe("As of chat completions: `AGENT`, `AGENT:ROLE` or `AGENT:titles`."),
  input: z
    .union(
      [z.string(), z.array(InputItem)],
      "must be a text, or a list of messages of user, assistant, system or developer",
    )
    .describe(
      "The query, or a conversation whose last message of the user is the query; the rest is data for the model.",
    ),
  instructions: optional(z.string()).describe("Data for the model, as a system text."),
  previous_response_id: optional(z.string()).describe(
    "Continues the thread of this response, which must be its last. It beats the headers that name a thread.",
  ),
  stream: optional(z.boolean()).describe("True sends the answer as server-sent events. Default: false."),
  max_output_tokens: optional(z.int().min(1).max(LIMITS.maxTokens)).describe("As `max_completion_tokens`."),
  temperature: optional(z.number().min(0).max(2)).describe("As of chat completions."),
  reasoning: optional(
    z.object({
      effort: optional(z.enum(EFFORTS)).describe(
        "How much the model reasons, as `reasoning_effort` of chat completions.",
      ),
    }),
  ).describe("How the model reasons. Members besides `effort` have no effect."),
  text: optional(
    z.object({
      format: optional(TextFormat).describe(
        "As `response_format` of chat completions, with the schema next to the type.",
      ),
    }),
  ).describe("The form of the answer. Members besides `format` have no effect."),
  user: optional(textUpTo(LIMITS.labelUnits)).describe("The `sessionId` of the query."),
  safety_identifier: optional(textUpTo(LIMITS.labelUnits)).describe("As `user`, which beats it."),
  tools: optional(z.array(z.unknown())).describe("Ignored with a warning."),
  tool_choice: optional(z.unknown()).describe("`none` runs a background task."),
  prompt: optional(z.unknown()).describe("Ignored with a warning."),
  conversation: optional(
    z.never("is not supported: send previous_response_id, or the header X-Patchbay-Thread"),
  ).describe("Answered with 400: conversations are threads, which `previous_response_id` or a header names."),
  background: optional(
    z.literal(false, "is not supported: send the query to /query with the header Prefer: respond-async"),
  ).describe("True is answered with 400."),
});
export type ResponsesRequest = z.infer<typeof ResponsesRequest>;

const id = z.string().describe("Names the run and the item's place.");
const tokens = (of: string) => z.int().describe(`Tokens ${of}, in all turns of the run.`);

const OutputItem = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("reasoning"),
    id,
    summary: z
      .array(z.object({ type: z.literal("summary_text"), text: z.string() }))
      .describe("Thoughts of the model, and a line for each call of a function."),
  }),
  z.object({
    type: z.literal("message"),
    id,
    status: z.enum(["in_progress", "completed"]),
    role: z.literal("assistant"),
    content: z.array(z.object({ type: z.literal("output_text"), text: z.string(), annotations: z.array(z.never()) })),
  }),
]);
export type OutputItem = z.infer<typeof OutputItem>;

/** The answer to a request for a response. */
export const ResponseObject = z.looseObject({
  id: z.string().describe("`resp_` and the id of the run."),
  object: z.literal("response").describe("Always `response`."),
  created_at: z.int().describe("When the request arrived, in seconds."),
  status: z
    .enum(["in_progress", "completed", "incomplete", "failed"])
    .describe("`incomplete`: cut by the limit of tokens, or refused; the message says why."),
  model: z.string().describe("The model as the request names it."),
  output: z
    .array(OutputItem)
    .describe("Reasoning and messages. The last message is the answer. Never a function call."),
  error: z.object({ code: z.string(), message: z.string() }).nullable().describe("Of a failed run, in a stream."),
  incomplete_details: z
    .object({ reason: z.enum(["max_output_tokens", "content_filter"]) })
    .nullable()
    .describe("Why the status is `incomplete`."),
  previous_response_id: z.string().nullable().describe("As in the request."),
  usage: z
    .object({
      input_tokens: tokens("that the model read"),
      input_tokens_details: z.object({ cached_tokens: tokens("that the provider read from its cache") }),
      output_tokens: tokens("that the model wrote"),
      output_tokens_details: z.object({ reasoning_tokens: tokens("that were reasoning") }),
      total_tokens: tokens("of both kinds"),
    })
    .nullable()
    .describe("What the run has used."),
  warnings,
});
export type ResponseObject = z.infer<typeof ResponseObject>;

/** An event of a streamed response. */
export const ResponseEvent = z.looseObject({
  type: z.templateLiteral(["response.", z.string()]).describe("The event, as in OpenAI's API."),
  sequence_number: z.int().describe("0, 1, 2, …"),
});
export type ResponseEvent = z.infer<typeof ResponseEvent>;
