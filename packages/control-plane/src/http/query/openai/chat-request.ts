import { type Fault, LIMITS, present } from "@patchbay/protocol";
import type { QuotedText } from "../../../ports/records.ts";
import { invalid, ServiceError } from "../../../ports/service-error.ts";
import type { Query } from "../../../run/api.ts";
import { parse } from "../query-body.ts";
import { opensTask } from "./background-tasks.ts";
import { ChatCompletionRequest, type ChatMessage } from "./wire.ts";

/** A request for a chat completion, as a query, and the form that its answer has. */
export interface ChatAsked {
  query: Query;
  form: ChatForm;
}

export interface ChatForm {
  /** The model as the client named it. */
  model: string;
  stream: boolean;
  includeUsage: boolean;
  /** The client asked for JSON, so that the content is only the value. */
  asJson: boolean;
}

/** The name in place of a role for background tasks. `defineService` refuses it as a role. */
export const TASKS = "titles";

/** What a request says of its conversation besides its body. */
export interface Conversation {
  agentId: string;
  /** The role of a caller whose model names none. */
  role?: string;
  thread?: Pick<Query, "threadId" | "externalThread">;
}

/** Parses a chat completion. Throws `ServiceError` for a body that is not valid, and `UnknownModel`. */
export function parseChat(body: unknown, conversation: Conversation, otherFaults: readonly Fault[] = []): ChatAsked {
  const asked = parse(ChatCompletionRequest, body, otherFaults);
  const { role = conversation.role, isTask: forTasks } = modelNamed(asked.model, conversation.agentId);
  const said = readMessages(asked.messages);
  const isTask =
    forTasks || asked.tool_choice === "none" || opensTask(said.systems[0]?.text ?? "") || opensTask(said.query);
  const query = isTask ? taskOf(said) : queryIn(said, conversation.thread);
  requireLength(query, said.at);

  const { user, temperature, response_format: format } = asked;
  const maxTokens = asked.max_completion_tokens ?? asked.max_tokens;
  const warnings = [...(query.warnings ?? []), ...ignored(asked)];
  return {
    query: {
      ...query,
      analysisMode: false,
      ...(warnings.length > 0 && { warnings }),
      ...present({ role, temperature, maxTokens, sessionId: user, responseSchema: schemaOf(format) }),
    },
    form: {
      model: asked.model,
      stream: asked.stream ?? false,
      includeUsage: asked.stream_options?.include_usage ?? false,
      asJson: format !== undefined && format.type !== "text",
    },
  };
}

/** No such model, or none that the client may know of. */
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
  if (!model.startsWith(`${agentId}:`) || role === "" || role.length > LIMITS.labelUnits) throw new UnknownModel(model);
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
  /** The text of the last user message, and the path of its content. */
  query: string;
  at: string;
  systems: QuotedText[];
  /** System texts and the other messages of the conversation, in order. */
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

/** Tool messages are results of functions of the client, which the agent did not call. */
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

/** A thread has the earlier messages itself, so that a client cannot change them. */
function queryIn({ query, systems, quoted }: Said, thread: Conversation["thread"]): Texts {
  if (thread) return { query, ...thread, ...(systems.length > 0 && { quoted: systems }) };
  return { query, ...fitting(quoted) };
}

/** The instruction of a task may be a system text, which is part of its query. */
function taskOf({ query, systems, quoted }: Said): Texts & { task: true } {
  const text = [...systems.map((one) => one.text), query].join("\n\n");
  return { query: text, task: true, ...fitting(quoted.filter((one) => !isSystem(one))) };
}

/** All system texts, and the newest of the other texts that fit. */
function fitting(quoted: readonly QuotedText[]): Pick<Query, "quoted" | "warnings"> {
  if (quoted.length === 0) return {};
  let room: number = LIMITS.queryUnits;
  const others = quoted.filter((one) => !isSystem(one));
  const first = others.findLastIndex(({ text }) => (room -= text.length) < 0) + 1;
  const left = new Set(others.slice(0, first));
  const kept = quoted.filter((one) => !left.has(one));
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
