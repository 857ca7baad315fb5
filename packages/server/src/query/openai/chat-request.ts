import { type Fault, LIMITS } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { QuotedText } from "@patchbay/engine/ports/records";
import { invalid, ServiceError } from "@patchbay/engine/ports/service-error";
import type { Query } from "@patchbay/engine/run/api";
import { parse } from "../query-body.ts";
import { ChatCompletionRequest, type ChatMessage } from "./wire.ts";

/** A request as a query, and its answer's form. */
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
  /** The key's own name for `AGENT:titles`. */
  taskModel?: string;
  /** The caller's role, if its model names none. */
  role?: string;
  thread?: Pick<Query, "threadId" | "externalThread">;
  /** The client sends the newest message only, so a dialogue in it is the user's. */
  sendsNewest?: boolean;
}

/** Parses a chat completion. Throws `ServiceError` for an invalid body, and `UnknownModel`. */
export function parseChat(body: unknown, conversation: Conversation, otherFaults: readonly Fault[] = []): ChatAsked {
  return askedIn(parse(ChatCompletionRequest, body, otherFaults), conversation);
}

/** `member`: where the body has its messages. */
export function askedIn(
  asked: ChatCompletionRequest,
  conversation: Conversation,
  member: "messages" | "input" = "messages",
): ChatAsked {
  const { role = conversation.role, isTask: forTasks } = modelNamed(asked.model, conversation);
  const said = readMessages(asked.messages, member);
  const isTask =
    forTasks || asked.tool_choice === "none" || (!conversation.sendsNewest && quotesConversation(asked.messages));
  const query = isTask ? taskOf(said) : queryIn(said, conversation.thread);
  requireLength(query, { at: said.at, member });

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

/** `AGENT`, `AGENT:ROLE`, `AGENT:titles` or the key's task model. A role may contain colons. */
function modelNamed(model: string, { agentId, taskModel }: Conversation): { role?: string; isTask: boolean } {
  if (model === taskModel) return { isTask: true };
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

const OWN_FUNCTIONS = "the agent calls the functions of its services only";
const IGNORED = {
  tools: OWN_FUNCTIONS,
  functions: OWN_FUNCTIONS,
  tool_choice: OWN_FUNCTIONS,
  prompt: "the agent has instructions of its own",
};

const UNSAID: ReadonlySet<unknown> = new Set([undefined, null, "auto", "none"]);

function ignored(asked: Readonly<Record<string, unknown>>): string[] {
  const isGiven = (value: unknown) => (Array.isArray(value) ? value.length > 0 : !UNSAID.has(value));
  return Object.entries(IGNORED).flatMap(([name, why]) => (isGiven(asked[name]) ? `${name} was ignored: ${why}` : []));
}

interface Said {
  /** The last user message's text, and its content's path. */
  query: string;
  at: string;
  systems: QuotedText[];
  /** System texts and the conversation's other messages, in order. */
  quoted: QuotedText[];
}

function readMessages(messages: readonly ChatMessage[], member: string): Said {
  const last = messages.findLastIndex(({ role }) => role === "user");
  if (last < 0) throw invalid([{ path: member, message: "must contain a message of the role user" }]);
  const quoted = messages.flatMap((message, i): QuotedText[] => {
    const from = SPEAKERS[message.role];
    if (i === last || from === undefined) return [];
    const text = textOf(message).trim();
    return text === "" ? [] : [{ from, text }];
  });
  const at = `${member}.${last}.content`;
  const { content } = messages[last]!;
  const faults = (typeof content === "object" ? content : []).flatMap(({ type }, i): Fault[] =>
    TEXTS.has(type) ? [] : [{ path: `${at}.${i}`, message: `is of the type ${type}, and only text is supported` }],
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
  return content.map(({ type, text }) => (TEXTS.has(type) ? (text ?? "") : `[${type} left out]`)).join("\n");
}

/** The types of text parts, in chat completions and in responses. */
const TEXTS: ReadonlySet<string> = new Set(["text", "input_text", "output_text"]);

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

function requireLength({ query, quoted = [] }: Texts, { at, member }: Record<"at" | "member", string>): void {
  const faults: Fault[] = [];
  if (query.length > LIMITS.queryUnits)
    faults.push({ path: at, message: `must have at most ${LIMITS.queryUnits} UTF-16 units` });
  if (query === "") faults.push({ path: at, message: "must not be empty" });
  const systemUnits = quoted.filter(isSystem).reduce((sum, { text }) => sum + text.length, 0);
  if (systemUnits > LIMITS.queryUnits)
    faults.push({ path: member, message: `must have at most ${LIMITS.queryUnits} UTF-16 units of system texts` });
  if (faults.length > 0) throw invalid(faults);
}

/** A line of each side, as chat clients quote conversations: `USER: …`, `**AI**: …`, `<user>`, `{"role":"user"`. */
const SIDES = ["user|human|customer|me", "assistant|ai|bot|agent|model|chatgpt"].map(
  (names) => new RegExp(String.raw`^[^\w\n]*(?:${names})[^\w\n]*[:>]|"role"\s*:\s*"(?:${names})"`, "im"),
);

/**
 * True for a chat client's own request to a model: for a title, tags, a search query. Its one message quotes the chat, which a
 * request of the user would have as messages. It must not run functions, because it repeats what the user asked.
 */
function quotesConversation(messages: readonly ChatMessage[]): boolean {
  const spoken = messages.filter(({ role }) => role === "user" || role === "assistant");
  return spoken.length === 1 && SIDES.every((side) => side.test(textOf(spoken[0]!)));
}
