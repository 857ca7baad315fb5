import { LIMITS, optional, REASONING, ResponseSchema, textUpTo } from "@patchbay/protocol";
import { z } from "zod";

export const Part = z.looseObject({ type: z.string(), text: z.string().optional() });
const ChatMessage = z.object({
  role: z
    .enum(["system", "developer", "user", "assistant", "tool", "function"])
    .describe("Who wrote it. Messages of tools and functions are ignored."),
  content: optional(z.union([z.string(), z.array(Part)])).describe(
    "A text, or parts; of the last user message, only parts of the type `text`.",
  ),
});
export type ChatMessage = z.infer<typeof ChatMessage>;

const ResponseFormat = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({ type: z.literal("json_object") }),
  z.object({ type: z.literal("json_schema"), json_schema: z.object({ schema: ResponseSchema }) }),
]);

const maxTokens = optional(z.int().min(1).max(LIMITS.maxTokens));

/** Those of OpenAI, which has two more levels. */
export const EFFORTS = [...REASONING, "minimal", "xhigh"] as const;

/** Chat completion body. Unlisted members have no effect. */
export const ChatCompletionRequest = z.object({
  model: z
    .string()
    .describe("`AGENT`, the id of the agent; `AGENT:ROLE` for a role; `AGENT:titles` for background tasks. Else 404."),
  messages: z
    .array(ChatMessage)
    .describe(
      "The last message of the user is the query. System texts, and without a thread the earlier messages, reach the model as data.",
    ),
  stream: optional(z.boolean()).describe("True sends the answer as server-sent events. Default: false."),
  stream_options: optional(
    z.object({ include_usage: optional(z.boolean()).describe("True asks for the usage. Default: false.") }),
  ).describe("With `include_usage`, the last chunk of a stream has the usage, also of a run that failed."),
  max_tokens: maxTokens.describe("As `max_completion_tokens`, which beats it."),
  max_completion_tokens: maxTokens.describe(
    `Tokens of one answer of the model. Default: the agent's setting, else ${LIMITS.defaultMaxTokens}.`,
  ),
  temperature: optional(z.number().min(0).max(2)).describe(
    "Randomness of the model's choice of words. Default: the agent's setting, else the provider's.",
  ),
  reasoning_effort: optional(z.enum(EFFORTS)).describe(
    "How much the model reasons: `minimal` means `low`, `xhigh` means `max`. Default: the agent's setting, else the provider's.",
  ),
  n: optional(z.literal(1, "must be 1: a query has one answer")).describe("1 or absent."),
  user: optional(textUpTo(LIMITS.labelUnits)).describe(
    "Your name for the end user. It becomes the `sessionId` of the query.",
  ),
  response_format: optional(ResponseFormat).describe(
    "`json_schema` asks for an answer that meets a schema of the form of `responseSchema`; `json_object` asks for any object.",
  ),
  tools: optional(z.array(z.unknown())).describe(
    "Ignored with a warning: the agent calls the functions of its services.",
  ),
  functions: optional(z.array(z.unknown())).describe("As `tools`."),
  tool_choice: optional(z.unknown()).describe("`none` runs a background task: without functions and without a thread."),
});
export type ChatCompletionRequest = z.infer<typeof ChatCompletionRequest>;

const tokens = (of: string) => z.int().describe(`Tokens ${of}, in all turns of the run.`);
const text = (description: string) => z.string().optional().describe(description);

/** The members common to a completion and its chunks. */
const shared = {
  id: z.string().describe("`chatcmpl-` and the id of the run."),
  created: z.int().describe("When the request arrived, in seconds."),
  model: z.string().describe("The model as the request names it."),
};
const index = z.literal(0).describe("A query has one answer.");
const logprobs = z.null().describe("Never present.");
const role = z.literal("assistant").describe("Always the assistant.");
const finishReason = z.enum(["stop", "length", "content_filter"]);
const FINISHED =
  "`stop`: complete. `length`: cut by the limit of tokens. `content_filter`: refused by the model or by a hook; the content says why.";
const reasoning = text("Thoughts of the model, and a line for each call of a function.");
export const warnings = z
  .array(z.string())
  .optional()
  .describe("What was ignored of the request, and what the run had to do without.");
const CompletionUsage = z
  .object({
    prompt_tokens: tokens("that the model read"),
    completion_tokens: tokens("that the model wrote"),
    total_tokens: tokens("of both kinds"),
    prompt_tokens_details: z
      .object({ cached_tokens: tokens("that the provider read from its cache") })
      .describe("Parts of the tokens read."),
    completion_tokens_details: z
      .object({ reasoning_tokens: tokens("that were reasoning") })
      .optional()
      .describe("Parts of the tokens written, where the provider reports them."),
  })
  .describe("What the run has used.");

/** A role of the agent. */
export const Model = z.object({
  id: z.string().describe("A `model` of chat completions and responses."),
  object: z.literal("model").describe("Always `model`."),
  created: z.int().describe("0: the models of an agent have no age."),
  owned_by: z.string().describe("The name of the agent."),
});
export type Model = z.infer<typeof Model>;

/** The agent's roles as models. */
export const ModelList = z.object({
  object: z.literal("list").describe("Always `list`."),
  data: z.array(Model).describe("The agent, its roles that the key may name, and its background tasks."),
});
export type ModelList = z.infer<typeof ModelList>;

/** The answer to a chat completion. */
export const ChatCompletion = z.object({
  ...shared,
  object: z.literal("chat.completion").describe("Always `chat.completion`."),
  choices: z
    .array(
      z.object({
        index,
        message: z
          .object({
            role,
            content: z.string().describe("The answer: Markdown, or with `response_format` JSON."),
            refusal: z.null().describe("Never present: the content says why the run was refused."),
            reasoning_content: reasoning,
          })
          .describe("The answer of the run."),
        logprobs,
        finish_reason: finishReason.describe(FINISHED),
      }),
    )
    .describe("The answer and how it ended: always one."),
  usage: CompletionUsage,
  warnings,
});
export type ChatCompletion = z.infer<typeof ChatCompletion>;

/** A streamed part of an answer. */
export const ChatCompletionChunk = z.object({
  ...shared,
  object: z.literal("chat.completion.chunk").describe("Always `chat.completion.chunk`."),
  choices: z
    .array(
      z.object({
        index,
        delta: z
          .object({
            role: role.optional(),
            content: text("The next part of the answer."),
            reasoning_content: reasoning,
          })
          .describe("What follows the chunks before."),
        logprobs,
        finish_reason: finishReason.nullable().describe(`Null until the last choice. ${FINISHED}`),
      }),
    )
    .describe("One choice; none in the chunk with the usage."),
  usage: CompletionUsage.nullish().describe("With `include_usage`: null, and in the last chunk what the run has used."),
  warnings,
});
export type ChatCompletionChunk = z.infer<typeof ChatCompletionChunk>;

/** A failure. In a stream it is the last event before `[DONE]`. */
export const OpenAiError = z.object({
  error: z
    .object({
      message: z.string().describe("What happened, and what to do."),
      type: z
        .string()
        .describe("`invalid_request_error`, `requests` (the rate limit), `insufficient_quota` or `server_error`."),
      param: z.string().nullable().describe("The path of the first fault of a request that is not valid."),
      code: z
        .string()
        .describe(
          "`model_not_found`, `invalid_api_key`, `rate_limit_exceeded`, `insufficient_quota`, or a code of the query API.",
        ),
    })
    .describe("What went wrong, in the form of OpenAI's API."),
});
export type OpenAiError = z.infer<typeof OpenAiError>;
