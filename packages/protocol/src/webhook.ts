import { z } from "zod";
import { ApprovalStatus } from "./approval.ts";
import { RunStatus } from "./response.ts";

/** Header with the time stamp and the signatures of a delivery: `t=SECONDS,v1=HEX`. Two `v1` follow a rotation of the secret. */
export const SIGNATURE_HEADER = "X-Patchbay-Signature";
/** Header with the id of a delivery, which stays the same in each attempt. */
export const DELIVERY_HEADER = "X-Patchbay-Delivery";

export const WEBHOOK_EVENTS = ["approval.requested", "approval.decided", "run.ended", "webhook.test"] as const;
/** What a delivery reports. */
export const WebhookEventType = z.enum(WEBHOOK_EVENTS);
export type WebhookEventType = z.infer<typeof WebhookEventType>;

const runId = z.string();
const threadId = z.string();
const ofCall = { runId, threadId, approvalId: z.string(), toolName: z.string() };

const envelope = {
  id: z.string().describe("Names the delivery. It stays the same in each attempt."),
  agentId: z.string(),
  createdAt: z.string().describe("ISO 8601 time of the event."),
  links: z.record(z.string(), z.string()).describe("Addresses of what the event is about."),
};

/**
 * Body of a delivery. It has ids, names and states only: never the query, the answer, arguments, results or the reason of an
 * approval, which may all contain data that the receiver's role could not read.
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
  z.object({ ...envelope, type: z.literal("webhook.test"), data: z.object({}) }),
]);
export type WebhookEvent = z.infer<typeof WebhookEvent>;
