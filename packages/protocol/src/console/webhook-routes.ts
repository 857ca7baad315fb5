import { z } from "zod";
import type { WebhookEventType } from "../webhook.ts";
import { Rotation } from "./agents.ts";
import { type ConsoleRoute, pageOf, paging, time } from "./route.ts";

/** Where an agent's events are sent. */
export const ConsoleWebhook = z.object({
  /** Without its path for readers who may not change it: the path may be a secret. */
  url: z.string(),
  /** The secret's last characters. */
  hint: z.string(),
  /** Until when deliveries are also signed with the secret before the last rotation. */
  previousEndsAt: time.nullable(),
  createdAt: time,
  updatedAt: time,
});
export type ConsoleWebhook = z.infer<typeof ConsoleWebhook>;

const webhookWithSecret = z.object({ webhook: ConsoleWebhook, secret: z.string() });

export const DeliveryStatus = z.enum(["pending", "delivered", "failed"]);
export type DeliveryStatus = z.infer<typeof DeliveryStatus>;

/** An event for an agent's webhook, sent or pending. */
export const WebhookDelivery = z.object({
  deliveryId: z.string(),
  type: z.custom<WebhookEventType>((value) => typeof value === "string"),
  /** The body's member `data`. */
  data: z.record(z.string(), z.unknown()),
  status: DeliveryStatus,
  attempts: z.int(),
  createdAt: time,
  /** Null after the last attempt. */
  nextAttemptAt: time.nullable(),
  lastAttemptAt: time.nullable(),
  /** HTTP status for the last attempt; null without a response. */
  lastStatus: z.int().nullable(),
  lastError: z.string().nullable(),
  lastDurationMs: z.number().nullable(),
});
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;

/** Changes to a webhook. */
const managed = { needs: "developer", scopes: [["agents:write"]] } as const;

/** Routes for an agent's webhook. */
export const WEBHOOK_ROUTES = {
  "GET /agents/:agent_id/webhook": {
    needs: "viewer",
    scopes: [["agents:read"]],
    summary: "An agent's webhook, null without one",
    answer: z.object({ webhook: ConsoleWebhook.nullable() }),
  },
  "PUT /agents/:agent_id/webhook": {
    needs: "developer",
    scopes: [["agents:write", "approvals:read"]],
    confirmed: true,
    summary: "Add a webhook, or change its address; a new one has a secret, which is shown once",
    body: z.object({ url: z.string().max(2_000) }),
    answer: webhookWithSecret.extend({ secret: z.string().nullable() }),
  },
  "DELETE /agents/:agent_id/webhook": {
    ...managed,
    confirmed: true,
    summary: "Remove the webhook; waiting deliveries are given up",
    answer: "nothing",
  },
  "POST /agents/:agent_id/webhook/rotate": {
    ...managed,
    confirmed: true,
    summary: "Replace the secret; for a while, deliveries are signed with both",
    body: Rotation,
    answer: webhookWithSecret,
  },
  "POST /agents/:agent_id/webhook/test": {
    ...managed,
    status: 201,
    summary: "Send a test delivery",
    answer: z.object({ deliveryId: z.string() }),
  },
  "GET /agents/:agent_id/webhook/deliveries": {
    needs: "viewer",
    scopes: [["agents:read", "approvals:read"]],
    summary: "The webhook's deliveries, newest first",
    query: z.object({ ...paging, status: DeliveryStatus.optional() }),
    answer: pageOf(WebhookDelivery),
  },
  "POST /agents/:agent_id/webhook/deliveries/:delivery_id/resend": {
    ...managed,
    summary: "Send an ended delivery again, with the same id",
    answer: "nothing",
  },
} as const satisfies Record<string, ConsoleRoute>;
