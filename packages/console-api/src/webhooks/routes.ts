import { isoTime, isoTimeOrNull, present } from "@patchbay/kit";
import { type ConsoleWebhook, lackedScopes, WEBHOOK_ROUTES, type WebhookDelivery } from "@patchbay/protocol/console";
import type { Delivery, Webhook } from "@patchbay/engine/ports/store/webhooks";
import { type Actor, hasRole } from "../actors.ts";
import { type ConsoleDeps, type Handlers, paged } from "../handler.ts";

/** An agent's webhook and its deliveries. */
export function webhookRoutes({ adminOf }: Pick<ConsoleDeps, "adminOf">) {
  return {
    async "GET /agents/:agent_id/webhook"({ by, agent: { agentId } }) {
      const webhook = await adminOf(by.actorId).getWebhook(agentId);
      return { webhook: webhook ? visibleTo(by, webhook) : null };
    },

    async "PUT /agents/:agent_id/webhook"({ by, agent: { agentId }, body }) {
      const { webhook, secret } = await adminOf(by.actorId).setWebhook(agentId, body.url);
      return { webhook: shown(webhook), secret };
    },

    async "DELETE /agents/:agent_id/webhook"({ by, agent: { agentId } }) {
      await adminOf(by.actorId).removeWebhook(agentId);
    },

    async "POST /agents/:agent_id/webhook/rotate"({ by, agent: { agentId }, body }) {
      const overlapMs = body.overlapSeconds * 1_000;
      const { webhook, secret } = await adminOf(by.actorId).rotateWebhook(agentId, { overlapMs });
      return { webhook: visibleTo(by, webhook), secret };
    },

    async "POST /agents/:agent_id/webhook/test"({ by, agent: { agentId } }) {
      return adminOf(by.actorId).testWebhook(agentId);
    },

    async "GET /agents/:agent_id/webhook/deliveries"({ by, agent: { agentId }, query }) {
      const { limit, ...wanted } = paged(query);
      const page = await adminOf(by.actorId).listDeliveries(agentId, { limit, ...present(wanted) });
      return { items: page.items.map(deliveryOf), nextCursor: page.nextCursor };
    },

    async "POST /agents/:agent_id/webhook/deliveries/:delivery_id/resend"({ by, agent: { agentId }, params }) {
      await adminOf(by.actorId).resendDelivery(agentId, params.delivery_id);
    },
  } satisfies Handlers;
}

const CHANGE = WEBHOOK_ROUTES["PUT /agents/:agent_id/webhook"];

/** An address's path and query may be the receiver's secret: only actors who may change the address read them. */
const mayChange = (by: Actor): boolean =>
  "scopes" in by
    ? CHANGE.scopes.some((wanted) => lackedScopes(by.scopes, wanted).length === 0)
    : hasRole(by, CHANGE.needs);

const visibleTo = (by: Actor, webhook: Webhook): ConsoleWebhook =>
  mayChange(by) ? shown(webhook) : { ...shown(webhook), url: withoutPath(webhook.url) };

function withoutPath(address: string): string {
  const { origin, href } = new URL(address);
  return href === `${origin}/` ? origin : `${origin}/…`;
}

const shown = ({ url, hint, previousUntil, createdAt, updatedAt }: Webhook): ConsoleWebhook => ({
  url,
  hint,
  previousEndsAt: isoTimeOrNull(previousUntil),
  createdAt: isoTime(createdAt),
  updatedAt: isoTime(updatedAt),
});

const deliveryOf = ({ orgId: _org, agentId: _agent, ...delivery }: Delivery): WebhookDelivery => ({
  ...delivery,
  createdAt: isoTime(delivery.createdAt),
  nextAttemptAt: isoTimeOrNull(delivery.nextAttemptAt),
  lastAttemptAt: isoTimeOrNull(delivery.lastAttemptAt),
  lastStatus: delivery.lastStatus ?? null,
  lastError: delivery.lastError ?? null,
  lastDurationMs: delivery.lastDurationMs ?? null,
});
