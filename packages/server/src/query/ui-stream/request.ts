import { LIMITS, optional, QueryRequest, textUpTo } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { z } from "zod";
import { invalid } from "@patchbay/engine/ports/service-error";
import { parse } from "../query-body.ts";

/** The part of a message that is read. The rest of a request is ignored: the thread has the conversation. */
const Message = z.object({
  id: z.string().optional().describe("The client's id of the message, which `messageId` may name."),
  role: z.string().describe("`user` for a query, `assistant` for decisions on approvals."),
  parts: z
    .array(
      z.looseObject({
        type: z.string().describe("`text` for a text of the user."),
        text: z.unknown().optional().describe("The text, of which the query consists."),
        state: z.unknown().optional().describe("`approval-responded` for a call that the user has decided on."),
        approval: z
          .unknown()
          .optional()
          .describe("The decision: the `id` of the approval, `approved` as a boolean, and a `reason` if there is one."),
      }),
    )
    .describe("The parts of the message. Parts of other types are ignored."),
});
type Message = z.infer<typeof Message>;

/** The client's id for a chat. */
export const ChatId = textUpTo(LIMITS.labelUnits).min(1, "must not be empty");

/** `DefaultChatTransport` request body (AI SDK). */
export const UiStreamRequest = z.object({
  id: ChatId.describe("The chat: an id of the client. The first message of a new id begins a thread."),
  messages: z
    .array(Message)
    .min(1, "must hold a message")
    .describe(
      "The messages of the chat. Only the last one is read: a text of the user, or the decisions on approvals. The thread has the conversation.",
    ),
  messageId: optional(z.string()).describe("The message that the client replaces or continues."),
  supersede: optional(z.boolean()).describe(
    "True cancels a run of the chat that waits for an approval, so that this message can be answered. Default: false.",
  ),
});

const Decision = z.object({
  id: z.string(),
  approved: z.boolean(),
  reason: optional(textUpTo(LIMITS.approvalReasonUnits)),
});
export type UiDecision = z.infer<typeof Decision>;

/** Each decision reads and writes the store, and a run asks for only a few at a time. */
const MOST_DECISIONS = 100;

/** A parsed request: a query, or decisions on approvals. */
export type UiAsked = { chatId: string } & (
  | { kind: "query"; query: string; supersede?: boolean }
  | { kind: "decisions"; decisions: UiDecision[] }
);

/** Parses a request body. Throws `invalid_request`. */
export function parseUiRequest(body: unknown): UiAsked {
  const { id: chatId, messages, messageId, supersede } = parse(UiStreamRequest, body, []);
  const isNamed = ({ id, role }: Message): boolean => role === "assistant" && id !== undefined && id === messageId;
  const named = messages.findLastIndex(isNamed);
  // A client may continue an earlier message, whose approvals it has just decided.
  const at = named >= 0 ? named : messages.length - 1;
  const { role, parts } = messages[at]!;
  const path = `messages.${at}.parts`;
  if (role === "user") {
    const texts = parts.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []));
    const asked = QueryRequest.shape.query.safeParse(texts.join("\n"));
    if (!asked.success) throw invalid([{ path, message: `the text ${asked.error.issues[0]!.message}` }]);
    return { chatId, kind: "query", query: asked.data, ...present({ supersede }) };
  }
  const answered = parts.flatMap((part, i) => (part.state === "approval-responded" ? [{ part, i }] : []));
  if (role !== "assistant" || answered.length === 0)
    throw invalid([{ path: `messages.${at}`, message: "must be a message of the user, or decide on approvals" }]);
  const read = answered.map(({ part, i }) => ({ i, ...Decision.safeParse(part.approval) }));
  const faults = read.flatMap(({ i, error }) =>
    (error?.issues ?? []).map((issue) => ({
      path: [path, i, "approval", ...issue.path].map(String).join("."),
      message: issue.message,
    })),
  );
  if (faults.length > 0) throw invalid(faults);
  const decisions = [...new Map(read.flatMap(({ data }) => (data ? [[data.id, data]] : []))).values()];
  if (decisions.length > MOST_DECISIONS)
    throw invalid([{ path, message: `must decide on at most ${MOST_DECISIONS} approvals, not ${decisions.length}` }]);
  return { chatId, kind: "decisions", decisions };
}
