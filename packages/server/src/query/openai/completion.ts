import { present } from "@patchbay/kit";
import type { QueryResponse, Usage } from "@patchbay/protocol";
import type { Followed } from "@patchbay/engine/run/api";
import type { Translator } from "../../kernel/event-stream.ts";
import { answerTranslator, type StreamedRun, wholeAnswer } from "./answer-stream.ts";
import type { ChatForm } from "./chat-request.ts";
import { runError } from "./errors.ts";
import type { ChatCompletion, ChatCompletionChunk, OpenAiError } from "./wire.ts";

const usageOf = ({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage) => ({
  prompt_tokens: inputTokens,
  completion_tokens: outputTokens,
  total_tokens: inputTokens + outputTokens,
  prompt_tokens_details: { cached_tokens: cachedInputTokens },
  ...(reasoningTokens !== undefined && { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
});

export interface Ids {
  runId: string;
  /** In seconds. */
  created: number;
}

const idOf = ({ runId }: Ids): string => `chatcmpl-${runId}`;

/** A whole completion. Throws `RunEndedError` for a run without an answer. */
export async function completionOf(
  answer: QueryResponse,
  events: AsyncIterable<Followed>,
  form: ChatForm,
  ids: Ids,
): Promise<ChatCompletion> {
  const { text, reasoning, finish, usage, warnings } = await wholeAnswer(answer, events, form);
  return {
    id: idOf(ids),
    object: "chat.completion",
    created: ids.created,
    model: form.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text,
          refusal: null,
          ...(reasoning !== "" && { reasoning_content: reasoning }),
        },
        logprobs: null,
        finish_reason: finish,
      },
    ],
    usage: usageOf(usage),
    ...present({ warnings }),
  };
}

const DONE = "data: [DONE]\n\n";

/** Writes one run's events as completion chunks. */
export function chunkTranslator(form: ChatForm, ids: Ids, run: StreamedRun): Translator {
  const chunk = (
    choices: ChatCompletionChunk["choices"],
    more: Pick<ChatCompletionChunk, "usage" | "warnings"> = {},
  ): string =>
    frame({
      id: idOf(ids),
      object: "chat.completion.chunk",
      created: ids.created,
      model: form.model,
      choices,
      // With the option, every chunk has the member, and only the last one has a value.
      ...(form.includeUsage && { usage: null }),
      ...more,
    });

  const delta = (delta: ChatCompletionChunk["choices"][number]["delta"]): string =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason: null }]);

  const usageChunk = (usage: Usage | undefined): string =>
    form.includeUsage && usage ? chunk([], { usage: usageOf(usage) }) : "";

  return answerTranslator(form, run, {
    needsUsage: form.includeUsage,
    open: () => delta({ role: "assistant", content: "" }),
    add: ({ content = "", reasoning = "" }) =>
      (reasoning === "" ? "" : delta({ reasoning_content: reasoning })) + (content === "" ? "" : delta({ content })),
    finish(reason, { usage, warnings }) {
      const last = chunk([{ index: 0, delta: {}, logprobs: null, finish_reason: reason }], present({ warnings }));
      return last + usageChunk(usage) + DONE;
    },
    // A client that counts tokens also pays for a failed run. It reads nothing after an error.
    fail: (failure, usage) => usageChunk(usage) + frame(runError(failure)) + DONE,
  });
}

const frame = (value: ChatCompletionChunk | OpenAiError): string => `data: ${JSON.stringify(value)}\n\n`;
