import type { Delivery, DeliveryStatus, NewDelivery, Webhook } from "../ports/webhooks.ts";
import { fromJson, type Json, withoutNulls } from "./columns.ts";

/** Tables of the webhooks. Times are milliseconds of the database's clock. */
export interface WebhookTables {
  webhooks: {
    agent_id: string;
    org_id: string;
    url: string;
    /** In clear text: it signs deliveries, so that a hash would not do. */
    secret: string;
    /** The secret before the last rotation, valid until `previous_until`. */
    previous_secret: string | null;
    previous_until: number | null;
    created_at: number;
    updated_at: number;
  };
  webhook_deliveries: DeliveryRow;
}

export interface DeliveryRow {
  id: string;
  org_id: string;
  agent_id: string;
  type: NewDelivery["type"];
  data: Json<NewDelivery["data"]>;
  status: DeliveryStatus;
  /** Grows with each attempt: the end of an attempt is stored only while it is the last one. */
  attempts: number;
  attempts_left: number;
  created_at: number;
  /** When the attempts began to count: the time of the event, or when a person sent it again. */
  queued_at: number;
  next_attempt_at: number | null;
  last_attempt_at: number | null;
  last_status: number | null;
  last_error: string | null;
  last_duration_ms: number | null;
}

export const toWebhook = (row: WebhookTables["webhooks"]): Webhook => ({
  agentId: row.agent_id,
  orgId: row.org_id,
  url: row.url,
  hint: `…${row.secret.slice(-4)}`,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  ...withoutNulls({ previousUntil: row.previous_until }),
});

export const toDelivery = (row: DeliveryRow): Delivery => ({
  deliveryId: row.id,
  orgId: row.org_id,
  agentId: row.agent_id,
  ...({ type: row.type, data: fromJson(row.data) } as NewDelivery),
  status: row.status,
  attempts: row.attempts,
  createdAt: row.created_at,
  ...withoutNulls({
    nextAttemptAt: row.next_attempt_at,
    lastAttemptAt: row.last_attempt_at,
    lastStatus: row.last_status,
    lastError: row.last_error,
    lastDurationMs: row.last_duration_ms,
  }),
});
