import { present } from "@patchbay/kit";
import type { QueryResponse, Usage } from "@patchbay/protocol";
import type { Followed } from "@patchbay/engine/run/api";
import type { Translator } from "../../kernel/event-stream.ts";
import { answerTranslator, type FinishReason, type StreamedRun, wholeAnswer } from "./answer-stream.ts";
import type { Ids } from "./completion.ts";
import { runError } from "./errors.ts";
import type { ResponsesForm } from "./responses-request.ts";
import type { OutputItem, ResponseEvent, ResponseObject } from "./responses-wire.ts";

const usageOf = ({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens = 0 }: Usage) => ({
  input_tokens: inputTokens,
  input_tokens_details: { cached_tokens: cachedInputTokens },
  output_tokens: outputTokens,
  output_tokens_details: { reasoning_tokens: reasoningTokens },
  total_tokens: inputTokens + outputTokens,
});

const INCOMPLETE: Partial<Record<FinishReason, "max_output_tokens" | "content_filter">> = {
  length: "max_output_tokens",
  content_filter: "content_filter",
};

type Kind = OutputItem["type"];
const partOf = (text: string) => ({ type: "output_text" as const, text, annotations: [] });
const summaryOf = (text: string) => ({ type: "summary_text" as const, text });

/** An item of the output. Its id names the run, so that the client can refer to it. */
function itemOf(kind: Kind, text: string | undefined, { runId }: Ids, index: number): OutputItem {
  const id = `${kind === "message" ? "msg" : "rs"}_${runId}_${index}`;
  if (kind === "reasoning") return { type: kind, id, summary: text === undefined ? [] : [summaryOf(text)] };
  const status = text === undefined ? "in_progress" : "completed";
  return { type: kind, id, status, role: "assistant", content: text === undefined ? [] : [partOf(text)] };
}

interface Ended {
  finish?: FinishReason;
  usage?: Usage | undefined;
  warnings?: string[] | undefined;
  error?: ResponseObject["error"];
}

function responseOf(form: ResponsesForm, ids: Ids, output: OutputItem[], ended?: Ended): ResponseObject {
  const reason = ended?.finish && INCOMPLETE[ended.finish];
  const status = ended?.error ? "failed" : reason ? "incomplete" : ended ? "completed" : "in_progress";
  return {
    id: `resp_${ids.runId}`,
    object: "response",
    created_at: ids.created,
    status,
    model: form.model,
    output: [...output],
    error: ended?.error ?? null,
    incomplete_details: reason ? { reason } : null,
    previous_response_id: form.previous ?? null,
    usage: ended?.usage ? usageOf(ended.usage) : null,
    // The agent's own, which the client does not see.
    instructions: null,
    metadata: {},
    tools: [],
    tool_choice: "none",
    parallel_tool_calls: true,
    ...present({ warnings: ended?.warnings }),
  };
}

/** A whole response. Throws `RunEndedError` for a run without an answer. */
export async function wholeResponse(
  answer: QueryResponse,
  events: AsyncIterable<Followed>,
  form: ResponsesForm,
  ids: Ids,
): Promise<ResponseObject> {
  const { text, reasoning, ...ended } = await wholeAnswer(answer, events, form);
  const texts: [Kind, string][] = [["message", text]];
  if (reasoning !== "") texts.unshift(["reasoning", reasoning]);
  const output = texts.map(([kind, part], i) => itemOf(kind, part, ids, i));
  return responseOf(form, ids, output, ended);
}

/** Writes one run's events as those of a response: one item at a time, because Codex reads no others. */
export function responseTranslator(form: ResponsesForm, ids: Ids, run: StreamedRun): Translator {
  const output: OutputItem[] = [];
  let item: { kind: Kind; text: string } | undefined;
  let count = 0;

  const send = (type: ResponseEvent["type"], members: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: count++, ...members } satisfies ResponseEvent)}\n\n`;

  /** An event of the open item, or with `more` of its part. */
  const ofItem = (type: ResponseEvent["type"], more: object): string =>
    send(type, { item_id: itemOf(item!.kind, "", ids, output.length).id, output_index: output.length, ...more });

  const place = ({ kind }: { kind: Kind }) => (kind === "message" ? { content_index: 0 } : { summary_index: 0 });

  function begin(kind: Kind): string {
    item = { kind, text: "" };
    const added = { output_index: output.length, item: itemOf(kind, undefined, ids, output.length) };
    const part = kind === "message" ? partOf("") : summaryOf("");
    return send("response.output_item.added", added) + ofItem(EVENTS[kind].begins, { ...place(item), part });
  }

  function end(): string {
    if (!item) return "";
    const { kind, text } = item;
    const { done, ends } = EVENTS[kind];
    const part = kind === "message" ? partOf(text) : summaryOf(text);
    const frames = ofItem(done, { ...place(item), text }) + ofItem(ends, { ...place(item), part });
    const whole = itemOf(kind, text, ids, output.length);
    item = undefined;
    const last = send("response.output_item.done", { output_index: output.length, item: whole });
    output.push(whole);
    return frames + last;
  }

  function add(kind: Kind, delta: string): string {
    if (delta === "") return "";
    const frames = item?.kind === kind ? "" : end() + begin(kind);
    item!.text += delta;
    return frames + ofItem(EVENTS[kind].delta, { ...place(item!), delta });
  }

  function finished(ended: Ended): string {
    const frames = end();
    const response = responseOf(form, ids, output, ended);
    return frames + send(`response.${response.status}`, { response });
  }

  return answerTranslator(form, run, {
    needsUsage: true,
    open() {
      const response = responseOf(form, ids, []);
      return send("response.created", { response }) + send("response.in_progress", { response });
    },
    add: ({ content = "", reasoning = "" }) => add("reasoning", reasoning) + add("message", content),
    finish: (finish, more) => finished({ finish, ...more }),
    fail(failure, usage) {
      const { code, message } = runError(failure).error;
      return finished({ error: { code, message }, usage });
    },
  });
}

const EVENTS = {
  message: {
    begins: "response.content_part.added",
    delta: "response.output_text.delta",
    done: "response.output_text.done",
    ends: "response.content_part.done",
  },
  reasoning: {
    begins: "response.reasoning_summary_part.added",
    delta: "response.reasoning_summary_text.delta",
    done: "response.reasoning_summary_text.done",
    ends: "response.reasoning_summary_part.done",
  },
} as const;
