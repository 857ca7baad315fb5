import { present } from "@patchbay/kit";
import { type QueryResponse, type RunErrorCode, type RunEvent, type LiveEvent, type Usage } from "@patchbay/protocol";
import { ends } from "@patchbay/engine/ports/store/run-store";
import { CUT_ANSWER, type Followed } from "@patchbay/engine/run/api";
import type { Translator } from "../../kernel/event-stream.ts";
import type { ChatForm } from "./chat-request.ts";
import { RunEndedError, runError } from "./errors.ts";
import { type Addition, answerText, Transcript } from "./transcript.ts";
import type { ChatCompletion, ChatCompletionChunk, OpenAiError } from "./wire.ts";

type FinishReason = ChatCompletion["choices"][number]["finish_reason"];

/** Run ends that OpenAI clients accept as an answer, however short. */
const FINISHES: Partial<Record<RunErrorCode | "approval_required", FinishReason>> = {
  output_limit: "length",
  model_refused: "content_filter",
  refused: "content_filter",
};

const answerFinish = (warnings: readonly string[] = []): FinishReason =>
  warnings.includes(CUT_ANSWER) ? "length" : "stop";

/** The chat's reader must see a refusal. */
const refusalText = (finish: FinishReason, message: string): string => (finish === "content_filter" ? message : "");

const usageOf = ({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage) => ({
  prompt_tokens: inputTokens,
  completion_tokens: outputTokens,
  total_tokens: inputTokens + outputTokens,
  prompt_tokens_details: { cached_tokens: cachedInputTokens },
  ...(reasoningTokens !== undefined && { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
});

interface Ids {
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
  const { success, code, errorMessage, warnings, usage } = answer;
  const finish = success ? answerFinish(warnings) : code && FINISHES[code];
  if (!finish) throw new RunEndedError(code ?? "internal", errorMessage);
  const text = success ? answerText(answer, form.asJson) : refusalText(finish, errorMessage);
  const reasoning = await reasoningIn(events, form);
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

async function reasoningIn(events: AsyncIterable<Followed>, form: ChatForm): Promise<string> {
  const transcript = new Transcript(form);
  let reasoning = "";
  for await (const { body } of events)
    if (!ends(body)) reasoning += transcript.add(JSON.parse(body) as RunEvent).reasoning ?? "";
  return reasoning;
}

const DONE = "data: [DONE]\n\n";

/** What a stream needs from its run. */
export interface StreamedRun {
  /** The stream ends before its run, and the client cannot resume it. */
  interrupted: () => void;
  /** The run's usage, once it has ended. The last event states it only if there is an answer. */
  usage: () => Promise<Usage | undefined>;
}

/** Writes one run's events as completion chunks. Never asks the client to call a function. */
export function chunkTranslator(form: ChatForm, ids: Ids, run: StreamedRun): Translator {
  const transcript = new Transcript(form);
  let ended = false;
  let waits = false;

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

  const additions = ({ content = "", reasoning = "" }: Addition): string =>
    (reasoning === "" ? "" : delta({ reasoning_content: reasoning })) + (content === "" ? "" : delta({ content }));

  const usageChunk = (usage: Usage | undefined): string =>
    form.includeUsage && usage ? chunk([], { usage: usageOf(usage) }) : "";

  function finish(reason: FinishReason, { usage, warnings }: { usage?: Usage; warnings?: string[] }): string {
    ended = true;
    const last = chunk([{ index: 0, delta: {}, logprobs: null, finish_reason: reason }], present({ warnings }));
    return last + usageChunk(usage) + DONE;
  }

  function fail({ code, errorMessage }: Extract<RunEvent, { type: "error" }>, usage?: Usage): string {
    const reason = FINISHES[code];
    if (reason) {
      const content = transcript.finish(refusalText(reason, errorMessage));
      return additions({ content }) + finish(reason, present({ usage }));
    }
    ended = true;
    // A client that counts tokens also pays for a failed run. It reads nothing after an error.
    return usageChunk(usage) + frame(runError({ code, message: errorMessage })) + DONE;
  }

  return {
    open: () => delta({ role: "assistant", content: "" }),

    event({ body }) {
      const event = JSON.parse(body) as RunEvent | LiveEvent;
      if (event.type === "modelStatus") return `: ${body}\n\n`;
      const added = additions(transcript.add(event));
      if (event.type === "approvalRequest") waits = true;
      if (event.type === "approvalDecision") waits = false;
      if (event.type === "finalResponse") {
        const { warnings, usage } = event;
        return added + finish(answerFinish(warnings), { usage, ...present({ warnings }) });
      }
      if (event.type !== "error") return added;
      return form.includeUsage ? run.usage().then((usage) => fail(event, usage)) : fail(event);
    },

    close() {
      if (ended) return "";
      run.interrupted();
      const [code, message] = waits ? (["approval_required", WAITING] as const) : (["internal", INTERRUPTED] as const);
      return frame(runError({ code, message })) + DONE;
    },
  };
}

const WAITING =
  "The run waits until a person has decided on a call. It continues after the decision, without this stream.";
const INTERRUPTED = "The stream ended before its run. The run continues; X-Run-Id names it.";

const frame = (value: ChatCompletionChunk | OpenAiError): string => `data: ${JSON.stringify(value)}\n\n`;
