import { type Fault, LIMITS } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { QuotedText } from "@patchbay/engine/ports/records";
import { invalid, ServiceError } from "@patchbay/engine/ports/service-error";
import type { Query } from "@patchbay/engine/run/api";
import { parse } from "../query-body.ts";
import { ChatCompletionRequest, type ChatMessage } from "./wire.ts";

/** A chat completion request as a query, and its answer's form. */
export interface ChatAsked {
  query: Query;
  form: ChatForm;
}

export interface ChatForm {
  /** The model as the client named it. */
  model: string;
  stream: boolean;
  includeUsage: boolean;
  /** The client asked for JSON, so the content is only the value. */
  asJson: boolean;
}

/** The name in place of a role for background tasks. `defineService` refuses it as a role. */
export const TASKS = "titles";

/** What a request says about its conversation outside its body. */
export interface Conversation {
  agentId: string;
  /** The caller's role, if its model names none. */
  role?: string;
  thread?: Pick<Query, "threadId" | "externalThread">;
}

/** Parses a chat completion. Throws `ServiceError` for an invalid body, and `UnknownModel`. */
export function parseChat(body: unknown, conversation: Conversation, otherFaults: readonly Fault[] = []): ChatAsked {
  const asked = parse(ChatCompletionRequest, body, otherFaults);
  const { role = conversation.role, isTask: forTasks } = modelNamed(asked.model, conversation.agentId);
  const said = readMessages(asked.messages);
  const isTask =
    forTasks || asked.tool_choice === "none" || opensTask(said.systems[0]?.text ?? "") || opensTask(said.query);
  const query = isTask ? taskOf(said) : queryIn(said, conversation.thread);
  requireLength(query, said.at);

  const { user, temperature, response_format: format, reasoning_effort: effort } = asked;
  const reasoning = effort === "minimal" ? "low" : effort === "xhigh" ? "max" : effort;
  const maxTokens = asked.max_completion_tokens ?? asked.max_tokens;
  const warnings = [...(query.warnings ?? []), ...ignored(asked)];
  return {
    query: {
      ...query,
      analysisMode: false,
      ...(warnings.length > 0 && { warnings }),
      ...present({ role, temperature, reasoning, maxTokens, sessionId: user, responseSchema: schemaOf(format) }),
    },
    form: {
      model: asked.model,
      stream: asked.stream ?? false,
      includeUsage: asked.stream_options?.include_usage ?? false,
      asJson: format !== undefined && format.type !== "text",
    },
  };
}

/** The model does not exist, or the client may not know about it. */
export class UnknownModel extends ServiceError {
  constructor(model: string) {
    super("not_found", `The model ${JSON.stringify(model.slice(0, LIMITS.labelUnits))} does not exist.`, {
      details: [{ path: "model", message: "is not a model of this agent" }],
    });
  }
}

/** `AGENT`, `AGENT:ROLE` or `AGENT:titles`. A role may contain colons. */
function modelNamed(model: string, agentId: string): { role?: string; isTask: boolean } {
  if (model === agentId) return { isTask: false };
  const role = model.slice(agentId.length + 1);
  if (!model.startsWith(`${agentId}:`) || role === "" || role.includes("\0") || role.length > LIMITS.labelUnits)
    throw new UnknownModel(model);
  return role === TASKS ? { isTask: true } : { role, isTask: false };
}

function schemaOf(format: ChatCompletionRequest["response_format"]): Query["responseSchema"] {
  if (format?.type === "json_schema") return format.json_schema.schema;
  return format?.type === "json_object" ? { type: "object", additionalProperties: true } : undefined;
}

function ignored({ tools = [], functions = [] }: ChatCompletionRequest): string[] {
  const names = [...(tools.length > 0 ? ["tools"] : []), ...(functions.length > 0 ? ["functions"] : [])];
  return names.map((name) => `${name} was ignored: the agent calls the functions of its services only`);
}

interface Said {
  /** The last user message's text, and its content's path. */
  query: string;
  at: string;
  systems: QuotedText[];
  /** System texts and the conversation's other messages, in order. */
  quoted: QuotedText[];
}

function readMessages(messages: readonly ChatMessage[]): Said {
  const last = messages.findLastIndex(({ role }) => role === "user");
  if (last < 0) throw invalid([{ path: "messages", message: "must contain a message of the role user" }]);
  const quoted = messages.flatMap((message, i): QuotedText[] => {
    const from = SPEAKERS[message.role];
    if (i === last || from === undefined) return [];
    const text = textOf(message).trim();
    return text === "" ? [] : [{ from, text }];
  });
  const at = `messages.${last}.content`;
  const { content } = messages[last]!;
  const faults = (typeof content === "object" ? content : []).flatMap(({ type }, i): Fault[] =>
    type === "text" ? [] : [{ path: `${at}.${i}`, message: `is of the type ${type}, and only text is supported` }],
  );
  if (faults.length > 0) throw invalid(faults);
  return { query: textOf(messages[last]!).trim(), at, systems: quoted.filter(isSystem), quoted };
}

const isSystem = ({ from }: QuotedText): boolean => from === "system";

/** Tool messages are results of the client's own functions, which the agent did not call. */
const SPEAKERS: Partial<Record<ChatMessage["role"], QuotedText["from"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
};

function textOf({ content = "" }: ChatMessage): string {
  if (typeof content === "string") return content;
  return content.map(({ type, text }) => (type === "text" ? (text ?? "") : `[${type} left out]`)).join("\n");
}

type Texts = Pick<Query, "query" | "quoted" | "threadId" | "externalThread" | "warnings">;

/** A thread stores its earlier messages itself, so that a client cannot change them. */
function queryIn({ query, systems, quoted }: Said, thread: Conversation["thread"]): Texts {
  if (thread) return { query, ...thread, ...(systems.length > 0 && { quoted: systems }) };
  return { query, ...fitting(quoted) };
}

/** A task's instruction may be a system text, which becomes part of its query. */
function taskOf({ query, systems, quoted }: Said): Texts & { task: true } {
  const text = [...systems.map((quote) => quote.text), query].join("\n\n");
  return { query: text, task: true, ...fitting(quoted.filter((quote) => !isSystem(quote))) };
}

/** All system texts, and the newest other texts that fit. */
function fitting(quoted: readonly QuotedText[]): Pick<Query, "quoted" | "warnings"> {
  if (quoted.length === 0) return {};
  let room: number = LIMITS.queryUnits;
  const others = quoted.filter((quote) => !isSystem(quote));
  const first = others.findLastIndex(({ text }) => (room -= text.length) < 0) + 1;
  const left = new Set(others.slice(0, first));
  const kept = quoted.filter((quote) => !left.has(quote));
  const warnings = [
    `The ${first} oldest messages of the request were left out: the limit is ${LIMITS.queryUnits} UTF-16 units`,
  ];
  return { ...(kept.length > 0 && { quoted: kept }), ...(first > 0 && { warnings }) };
}

function requireLength({ query, quoted = [] }: Texts, at: string): void {
  const faults: Fault[] = [];
  if (query.length > LIMITS.queryUnits)
    faults.push({ path: at, message: `must have at most ${LIMITS.queryUnits} UTF-16 units` });
  if (query === "") faults.push({ path: at, message: "must not be empty" });
  const systemUnits = quoted.filter(isSystem).reduce((sum, { text }) => sum + text.length, 0);
  if (systemUnits > LIMITS.queryUnits)
    faults.push({ path: "messages", message: `must have at most ${LIMITS.queryUnits} UTF-16 units of system texts` });
  if (faults.length > 0) throw invalid(faults);
}

/**
 * How chat clients' own requests to a model start: for titles, tags, follow-ups, search queries. They must not run
 * functions: such a request repeats what the user asked. Each line is the start of a prompt in a client's source,
 * without Open WebUI's heading `### Task:`, which also starts its prompt for answers from documents.
 */
const OPENINGS = [
  // Open WebUI: DEFAULT_*_PROMPT_TEMPLATE in backend/open_webui/config.py at 00b1c6bc.
  "Generate a concise title summarizing the chat history.",
  "Generate 1-3 broad tags categorizing the main themes of the chat history",
  "Generate a detailed prompt for am image generation task based on the given language and context.",
  "Suggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next in this conversation",
  "Analyze the chat history to determine the necessity of generating search queries",
  "You are an autocompletion system. Continue the text in `<text>` based on the **completion type**",
  "Your task is to reflect the speaker's likely facial expression through a fitting emoji.",
  "You have been provided with a set of responses from various models to the latest user query:",
  // The tool list follows as JSON.
  "Available Tools: [",
  // Open WebUI until 0.6.
  "Generate a concise, 3-5 word title with an emoji summarizing the chat history.",
  // LibreChat: src/utils/title.ts at d8751a6a and src/prompts/activityLabel.ts at 0283b7eb of danny-avila/agents.
  "Provide a concise, 5-word-or-less title for the conversation",
  "Analyze this conversation and provide:\n1. The detected language of the conversation",
  "Write a short label describing what this block of agent activity accomplished.",
  // LibreChat: api/app/clients/prompts/summaryPrompts.js.
  "Summarize the conversation by integrating new lines into the current summary.",
];

const HEADING = /^\s*(?:### Task:\s*)?/;

/** True for a text that starts like a known client's background task. */
function opensTask(text: string): boolean {
  const begin = text.replace(HEADING, "");
  return OPENINGS.some((opening) => begin.startsWith(opening));
}
