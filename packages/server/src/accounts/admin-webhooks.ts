import type { PageAsked } from "@patchbay/engine/ports/store/page";
import type { Store } from "@patchbay/engine/ports/store/stores";
import type { DeliveryPage, DeliveryStatus, Webhook } from "@patchbay/engine/ports/store/webhooks";
import { AdminError, agentOf, found } from "./admin-error.ts";
import { randomBase62 } from "./secret.ts";

const MOST_URL_UNITS = 2_000;
const SECRET_PREFIX = "patchbay_wh_";

/** Manages an agent's webhook, which reports approvals and run ends. */
export interface WebhookAdmin {
  /** Adds the webhook with a secret, shown only once, or changes the existing one's address: `secret` is null. */
  setWebhook(agentId: string, url: string): Promise<{ webhook: Webhook; secret: string | null }>;
  getWebhook(agentId: string): Promise<Webhook | undefined>;
  /** Replaces the secret. For `overlapMs`, deliveries are signed with both. */
  rotateWebhook(agentId: string, options: { overlapMs: number }): Promise<{ webhook: Webhook; secret: string }>;
  /** Also drops the waiting deliveries. */
  removeWebhook(agentId: string): Promise<void>;
  /** Stores a `webhook.test` delivery, which a server on the database sends within seconds. */
  testWebhook(agentId: string): Promise<{ deliveryId: string }>;
  /** Newest first. */
  listDeliveries(agentId: string, options: { status?: DeliveryStatus } & PageAsked): Promise<DeliveryPage>;
  /** Sends an ended delivery again, with the same id. */
  resendDelivery(agentId: string, deliveryId: string): Promise<void>;
}

export function webhookAdmin(
  { accounts, audit, webhooks }: Store,
  { author }: { author: { keyId?: string } },
): WebhookAdmin {
  const secretOf = (): string => SECRET_PREFIX + randomBase62(40);

  async function webhookOf(agentId: string): Promise<Webhook> {
    await agentOf(accounts, agentId);
    const webhook = await webhooks.get(agentId);
    if (webhook) return webhook;
    throw new AdminError(
      `Agent ${agentId} has no webhook. Add one with "patchbay agents webhook set ${agentId} --url URL".`,
      "conflict",
    );
  }

  return {
    async setWebhook(agentId, url) {
      const { orgId } = await agentOf(accounts, agentId);
      const secret = secretOf();
      const { added } = await webhooks.set({ agentId, orgId, url: checkedUrl(url), secret });
      // The host only: the rest of an address may be the receiver's secret.
      const detail = { host: new URL(url).host };
      const about = { orgId, agentId, detail, ...author };
      await audit.record([added ? { action: "webhook.added", ...about } : { action: "webhook.changed", ...about }]);
      return { webhook: await webhookOf(agentId), secret: added ? secret : null };
    },

    async getWebhook(agentId) {
      await agentOf(accounts, agentId);
      return webhooks.get(agentId);
    },

    async rotateWebhook(agentId, { overlapMs }) {
      const { orgId } = await webhookOf(agentId);
      const secret = secretOf();
      await webhooks.rotate(agentId, secret, overlapMs);
      const detail = { overlapSeconds: Math.round(overlapMs / 1000) };
      await audit.record([{ orgId, agentId, action: "webhook.rotated", detail, ...author }]);
      return { webhook: await webhookOf(agentId), secret };
    },

    async removeWebhook(agentId) {
      const { orgId } = await agentOf(accounts, agentId);
      if (await webhooks.remove(agentId))
        await audit.record([{ orgId, agentId, action: "webhook.removed", ...author }]);
    },

    async testWebhook(agentId) {
      const { orgId } = await webhookOf(agentId);
      const deliveryId = await webhooks.add({ agentId, orgId }, { type: "webhook.test", data: {} });
      if (deliveryId === undefined) throw new AdminError(`The webhook of ${agentId} was removed.`, "conflict");
      await audit.record([{ orgId, agentId, action: "webhook.tested", detail: { deliveryId }, ...author }]);
      return { deliveryId };
    },

    async listDeliveries(agentId, options) {
      await agentOf(accounts, agentId);
      return webhooks.deliveries({ agentId, ...options });
    },

    async resendDelivery(agentId, deliveryId) {
      const { orgId } = await webhookOf(agentId);
      const command = `agents webhook deliveries ${agentId}`;
      found(await webhooks.delivery(agentId, deliveryId), "delivery", deliveryId, command);
      if (!(await webhooks.sendAgain(agentId, deliveryId)))
        throw new AdminError(`Delivery ${deliveryId} is waiting for its next attempt already.`, "conflict");
      await audit.record([{ orgId, agentId, action: "webhook.resent", detail: { deliveryId }, ...author }]);
    },
  };
}

function checkedUrl(text: string): string {
  const url = URL.parse(text);
  const fault =
    !url || !/^https?:$/.test(url.protocol)
      ? "must be an address that begins with https://"
      : url.username !== "" || url.password !== ""
        ? "must not contain a user name or password"
        : text.length > MOST_URL_UNITS
          ? `must have at most ${MOST_URL_UNITS} characters`
          : undefined;
  if (url && fault === undefined) return url.href;
  throw new AdminError(`The address of the webhook ${fault}.`, "value", [{ path: "url", message: fault! }]);
}
