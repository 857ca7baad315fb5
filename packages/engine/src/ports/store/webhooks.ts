import type { WebhookEvent, WebhookEventType } from "@patchbay/protocol";
import type { Page, PageAsked } from "./page.ts";

/** Where an agent's events are sent. Only a claimed delivery includes the secret, never this record. */
export interface Webhook {
  agentId: string;
  orgId: string;
  url: string;
  /** The secret's last characters. */
  hint: string;
  /** Until when deliveries are also signed with the secret before the last rotation. */
  previousUntil?: number;
  createdAt: number;
  updatedAt: number;
}

/** An event to report. */
export type NewDelivery = {
  [Type in WebhookEventType]: { type: Type; data: Extract<WebhookEvent, { type: Type }>["data"] };
}[WebhookEventType];

/** `failed`: its attempts or its time are used up, or the webhook was removed. */
export type DeliveryStatus = "pending" | "delivered" | "failed";

/** Times are milliseconds by the database's clock. */
export type Delivery = NewDelivery & {
  deliveryId: string;
  orgId: string;
  agentId: string;
  status: DeliveryStatus;
  /** Attempts that began, in all rounds. */
  attempts: number;
  createdAt: number;
  /**
   * When the next attempt may begin; absent after the last one. During an attempt, when another replica may repeat it.
   */
  nextAttemptAt?: number;
  lastAttemptAt?: number;
  /** The last attempt's HTTP status; absent without a response. */
  lastStatus?: number;
  /** Why the last attempt failed. */
  lastError?: string;
  lastDurationMs?: number;
};

export type DeliveryPage = Page<Delivery>;

/** A delivery to attempt now. */
export interface ClaimedDelivery {
  delivery: Delivery;
  url: string;
  /** The attempt's number since the event, or since a person sent the delivery again. */
  round: number;
  /** The current secret, then the previous one while it is valid. */
  secrets: readonly string[];
}

/** How an attempt ended. */
export interface Attempted {
  delivered: boolean;
  /** True if nothing was sent, for a reason in this process: the claim does not count as an attempt. */
  unsent?: true;
  status?: number;
  error?: string;
  durationMs: number;
  /** Pause before the next attempt. */
  retryInMs: number;
}

/**
 * Webhooks and their deliveries. The transaction that an event reports also stores its delivery, if the agent has a
 * webhook.
 */
export interface WebhookStore {
  get(agentId: string): Promise<Webhook | undefined>;
  /** Adds a webhook, or changes the address of the existing one, which keeps its secret. */
  set(webhook: { agentId: string; orgId: string; url: string; secret: string }): Promise<{ added: boolean }>;
  /** Signs with `secret` from now on, and with the old one too until `overlapMs` have passed. False without a webhook. */
  rotate(agentId: string, secret: string, overlapMs: number): Promise<boolean>;
  /** Marks the pending deliveries as failed. False without a webhook. */
  remove(agentId: string): Promise<boolean>;
  /** Stores an event. Undefined without a webhook. */
  add(agent: { agentId: string; orgId: string }, event: NewDelivery): Promise<string | undefined>;
  /** Newest first. Throws `invalid_request` for an invalid cursor. */
  deliveries(filter: { agentId: string; status?: DeliveryStatus } & PageAsked): Promise<DeliveryPage>;
  delivery(agentId: string, deliveryId: string): Promise<Delivery | undefined>;
  /**
   * Makes an ended delivery pending again, with the same id. False for a pending or an unknown one, and without a
   * webhook.
   */
  sendAgain(agentId: string, deliveryId: string): Promise<boolean>;
  /** Agents with a webhook and a due delivery, except `busy` ones. */
  due(busy: readonly string[]): Promise<{ orgId: string; agentId: string }[]>;
  /**
   * Begins an attempt at each of the agent's due deliveries, the longest due first. For `leaseMs` no other replica
   * takes them; one whose attempt does not end by then is due again.
   */
  claim(agentId: string, options: { limit: number; leaseMs: number }): Promise<ClaimedDelivery[]>;
  /** Stores how an attempt ended, unless a later attempt has begun. Returns the delivery's new state. */
  settle(delivery: Pick<Delivery, "deliveryId" | "attempts">, result: Attempted): Promise<DeliveryStatus | undefined>;
}

/** Attempts per delivery, about a day with the sender's pauses. Sending it again by hand adds as many. */
export const DELIVERY_ATTEMPTS = 12;
/** Time after which a delivery is given up. Time between when an attempt is due and when it begins does not count. */
export const DELIVERY_MS = 24 * 3_600_000;
