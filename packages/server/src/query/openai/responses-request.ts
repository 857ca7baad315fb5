import type { Fault } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { invalid } from "@patchbay/engine/ports/service-error";
import type { Principal, Query, Runs } from "@patchbay/engine/run/api";
import { parse } from "../query-body.ts";
import { askedIn, type ChatForm, type Conversation } from "./chat-request.ts";
import { type InputItem, ResponsesRequest } from "./responses-wire.ts";
import type { ChatCompletionRequest, ChatMessage } from "./wire.ts";

export interface ResponsesForm extends ChatForm {
  /** The response that this one follows. */
  previous?: string;
  /** The newest response to whose items the input refers. */
  referred?: string;
}

/** The run in an item's id. */
const ITEM = /^msg_(run_[0-9a-f]+)_\d+$/;

/** Parses the body of a request for a response. Throws as `parseChat` does. */
export function parseResponses(
  body: unknown,
  conversation: Conversation,
  otherFaults: readonly Fault[] = [],
): { query: Query; form: ResponsesForm } {
  const asked = parse(ResponsesRequest, body, otherFaults);
  const { previous_response_id: previous, instructions, input, text, reasoning, max_output_tokens, ...more } = asked;
  const items = typeof input === "string" ? [{ role: "user" as const, content: input }] : input;
  // Last, so that faults have the paths of the input.
  const systems: ChatMessage[] = instructions ? [{ role: "system", content: instructions }] : [];
  const chat: ChatCompletionRequest = {
    ...more,
    messages: [...items.map(messageOf), ...systems],
    user: asked.user ?? asked.safety_identifier,
    max_completion_tokens: max_output_tokens,
    reasoning_effort: reasoning?.effort,
    response_format: formatOf(text?.format),
  };
  const asksNewest = previous !== undefined;
  const { query, form } = askedIn(
    chat,
    asksNewest ? { ...conversation, thread: {}, sendsNewest: true } : conversation,
    "input",
  );
  const referred = conversation.thread ? undefined : items.flatMap(({ id = "" }) => ITEM.exec(id)?.[1] ?? []).at(-1);
  return { query, form: { ...form, ...present({ previous, referred }) } };
}

/** A reference stands for an answer, and its text is with us. Results of the client's own tools are ignored. */
function messageOf({ type = "message", role, content }: InputItem): ChatMessage {
  if (type === "item_reference") return { role: "assistant", content: "" };
  return type === "message" && role !== undefined ? { role, content } : { role: "tool", content: "" };
}

type Format = NonNullable<ResponsesRequest["text"]>["format"];

const formatOf = (format: Format): ChatCompletionRequest["response_format"] =>
  format?.type === "json_schema" ? { type: format.type, json_schema: { schema: format.schema } } : format;

const RESPONSE = /^resp_/;

/**
 * The query in the thread of the response before it. Throws `invalid_request` unless that response is its thread's newest; a client
 * that only refers to items of another one gets a warning.
 */
export async function continued(
  { runs }: { runs: Pick<Runs, "find" | "list"> },
  holder: Principal,
  { query, form: { previous, referred } }: { query: Query; form: ResponsesForm },
): Promise<Query> {
  const runId = previous?.replace(RESPONSE, "") ?? referred;
  if (runId === undefined || query.task) return query;
  const before = await runs.find(holder, runId);
  const threadId = before?.threadId;
  const newest = threadId === undefined ? [] : (await runs.list(holder, { threadId, limit: 1 })).items;
  if (threadId !== undefined && newest[0]?.runId === runId) {
    const quoted = query.quoted?.filter(({ from }) => from === "system");
    return { ...query, threadId, ...present({ quoted }) };
  }
  if (previous !== undefined)
    throw invalid([{ path: "previous_response_id", message: "must be the newest response of its thread" }]);
  return { ...query, warnings: [...(query.warnings ?? []), NOT_READ] };
}

const NOT_READ =
  "Earlier answers were left out: the items that the input refers to are not of the newest response of a thread";
