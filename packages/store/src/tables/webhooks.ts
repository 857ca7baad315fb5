import type { Delivery, NewDelivery, Webhook } from "@patchbay/engine/ports/store/webhooks";
import { withoutNulls } from "../columns.ts";
import { bigint, integer, json, recordColumns, type RowOf, text } from "./table.ts";

/** The webhook tables. Times are milliseconds on the database's clock. */
export interface WebhookTables {
  webhooks: {
    agent_id: string;
    org_id: string;
    url: string;
    /** In clear text: it signs deliveries, so a hash would not suffice. */
    secret: string;
    /** The previous secret, valid until `previous_until` after a rotation. */
    previous_secret: string | null;
    previous_until: number | null;
    created_at: number;
    updated_at: number;
  };
  webhook_deliveries: DeliveryRow;
}

type StoredDelivery = Omit<Delivery, "type" | "data"> &
  Record<"type", NewDelivery["type"]> &
  Record<"data", NewDelivery["data"]>;

const DELIVERY = {
  deliveryId: text("id"),
  orgId: text("org_id"),
  agentId: text("agent_id"),
  type: text("type"),
  data: json("data"),
  status: text("status"),
  // Grows with each attempt: an attempt's end is stored only while it is the last one.
  attempts: integer("attempts"),
  createdAt: bigint("created_at"),
  nextAttemptAt: bigint("next_attempt_at"),
  lastAttemptAt: bigint("last_attempt_at"),
  lastStatus: integer("last_status"),
  lastError: text("last_error"),
  lastDurationMs: integer("last_duration_ms"),
};
const deliveryColumns = recordColumns<StoredDelivery>()(DELIVERY);

export interface DeliveryRow extends RowOf<StoredDelivery, typeof DELIVERY> {
  attempts_left: number;
  /**
   * When the attempts started to count: when the event occurred or a person sent it again, moved later by the time in
   * which no replica tried.
   */
  queued_at: number;
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

export const toDelivery = (row: DeliveryRow): Delivery => deliveryColumns.recordOf(row) as Delivery;
