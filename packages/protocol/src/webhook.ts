import { z } from "zod";
import { ApprovalStatus } from "./approval.ts";
import { RunStatus } from "./response.ts";
import { text } from "./members.ts";

/** Header with a delivery's time stamp and signatures: `t=SECONDS,v1=HEX`. Two `v1` follow a secret rotation. */
export const SIGNATURE_HEADER = "X-Patchbay-Signature";
/** Header with the delivery id, which stays the same in each attempt. */
export const DELIVERY_HEADER = "X-Patchbay-Delivery";

export const WEBHOOK_EVENTS = [
  "approval.requested",
  "approval.decided",
  "run.ended",
  "audit.head",
  "webhook.test",
] as const;
/** What a delivery reports. A later version may report more. */
export const WebhookEventType = z.enum(WEBHOOK_EVENTS);
export type WebhookEventType = z.infer<typeof WebhookEventType>;

const runId = z.string();
const threadId = z.string();
const ofCall = { runId, threadId, approvalId: z.string(), toolName: z.string() };

const envelope = {
  id: text("Names the delivery. It stays the same in each attempt."),
  agentId: z.string(),
  createdAt: text("ISO 8601 time of the event."),
  links: z.record(z.string(), z.string()).describe("Addresses for the event's subject."),
};

/**
 * Delivery body. It has ids, names and states only: never the query, the answer, arguments, results or an approval's
 * reason, which may all contain data that the receiver's role could not read.
 */
export const WebhookEvent = z.discriminatedUnion("type", [
  z.object({
    ...envelope,
    type: z.literal("approval.requested"),
    data: z.object({ ...ofCall, by: z.array(z.string()), expiresAt: z.string() }),
  }),
  z.object({
    ...envelope,
    type: z.literal("approval.decided"),
    data: z.object({ ...ofCall, decision: ApprovalStatus.exclude(["pending"]) }),
  }),
  z.object({
    ...envelope,
    type: z.literal("run.ended"),
    data: z.object({ runId, threadId, status: RunStatus, code: z.string().optional() }),
  }),
  z.object({
    ...envelope,
    type: z.literal("audit.head"),
    data: z.object({
      head: text("Number and hash of the last seal in the organisation's audit log: `SEQ:HASH`."),
      entries: z.int().describe("Sealed entries since the log began."),
      sealedTo: text("ISO 8601 time of the last entry."),
    }),
  }),
  z.object({ ...envelope, type: z.literal("webhook.test"), data: z.object({}) }),
]);
export type WebhookEvent = z.infer<typeof WebhookEvent>;
