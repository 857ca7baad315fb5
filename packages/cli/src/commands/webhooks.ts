import type { Admin } from "@patchbay/control-plane";
import { isoTime, isoTimeOrNull, present } from "@patchbay/kit";
import type { Command } from "commander";
import { limitOption, option, overlapOption, plainOption } from "../options.ts";
import { listing } from "../table.ts";
import { adminCommand, SHOWN_ONCE, shownMembers } from "./administer.ts";

type Shown = Awaited<ReturnType<Admin["setWebhook"]>>["webhook"];

const AGENT = { agent: "agent id, as `agents list` shows it" };

/**
 * `agents webhook`: set, show, rotate, remove, test, deliveries and resend. A running server sends what these commands
 * store.
 */
export function addWebhookCommands(agents: Command): void {
  const webhook = agents.command("webhook").description("report approvals and ended runs to your address");
  adminCommand(webhook, "set <agent>", "add the webhook and show its secret once, or change its address", {
    arguments: AGENT,
    options: [
      option(
        "--url <url>",
        "address that deliveries are posted to; https, except for networks that the server allows",
        { required: true },
      ),
    ],
    examples: ["patchbay agents webhook set agt_... --url https://hooks.example.com/patchbay"],
    work: async ({ admin, args: [agentId], options: { url } }) => withSecret(await admin.setWebhook(agentId, url)),
    show: showWithSecret,
  });
  adminCommand(webhook, "show <agent>", "show the webhook, without its secret", {
    arguments: AGENT,
    async work({ admin, args: [agentId] }) {
      const found = await admin.getWebhook(agentId);
      return found ? jsonOf(found) : { agentId, url: null };
    },
    show: (shown) => (shown.url === null ? `Agent ${shown.agentId} has no webhook.` : shownMembers(shown)),
  });
  adminCommand(webhook, "rotate <agent>", "replace the secret; shows the new one only once", {
    arguments: AGENT,
    options: [overlapOption("how long deliveries are also signed with the old secret: 30m, 24h, 7d, or 0")],
    examples: ["patchbay agents webhook rotate agt_... --overlap 24h"],
    work: async ({ admin, args: [agentId], options: { overlap } }) =>
      withSecret(await admin.rotateWebhook(agentId, { overlapMs: overlap })),
    show: showWithSecret,
  });
  adminCommand(webhook, "remove <agent>", "remove the webhook and give up the deliveries that wait", {
    arguments: AGENT,
    async work({ admin, args: [agentId] }) {
      await admin.removeWebhook(agentId);
      return { agentId };
    },
    show: ({ agentId }) => `Agent ${agentId} has no webhook now.`,
  });
  addDeliveryCommands(webhook);
}

function addDeliveryCommands(webhook: Command): void {
  adminCommand(webhook, "test <agent>", "store a test delivery, which a running server sends", {
    arguments: AGENT,
    work: ({ admin, args: [agentId] }) => admin.testWebhook(agentId),
    show: ({ deliveryId }, { args: [agentId] }) =>
      `Stored delivery ${deliveryId}. See its state with: patchbay agents webhook deliveries ${agentId}`,
  });
  adminCommand(webhook, "deliveries <agent>", "list deliveries, newest first", {
    arguments: AGENT,
    options: [
      plainOption("--status <status>", "only deliveries in this state", {
        choices: ["pending", "delivered", "failed"],
      }),
      limitOption("deliveries"),
    ],
    async work({ admin, args: [agentId], options: { limit, status } }) {
      const { items, nextCursor } = await admin.listDeliveries(agentId, { limit, ...present({ status }) });
      return { items: items.map(timesAsText), nextCursor };
    },
    show: ({ items }) =>
      listing(items, "No deliveries.", {
        delivery: "deliveryId",
        event: "type",
        status: "status",
        attempts: "attempts",
        "last code": "lastStatus",
        "last error": "lastError",
        "next attempt": "nextAttemptAt",
      }),
  });
  adminCommand(webhook, "resend <agent> <delivery>", "send an ended delivery again, with the same id", {
    arguments: { ...AGENT, delivery: "delivery id, as `deliveries` shows it" },
    async work({ admin, args: [agentId, deliveryId] }) {
      await admin.resendDelivery(agentId, deliveryId);
      return { deliveryId };
    },
    show: ({ deliveryId }) => `Delivery ${deliveryId} is pending again.`,
  });
}

const jsonOf = ({ agentId, url, hint, previousUntil, createdAt }: Shown) => ({
  agentId,
  url,
  hint,
  previousEndsAt: isoTimeOrNull(previousUntil),
  createdAt: isoTime(createdAt),
});

const withSecret = ({ webhook, secret }: { webhook: Shown; secret: string | null }) => ({ ...jsonOf(webhook), secret });

const showWithSecret = (shown: ReturnType<typeof withSecret>): string =>
  shown.secret === null ? shownMembers(shown) : `${shownMembers(shown)}\n${SHOWN_ONCE}`;

const timesAsText = ({ createdAt, nextAttemptAt, lastAttemptAt, ...rest }: Deliveries[number]) => ({
  ...rest,
  createdAt: isoTime(createdAt),
  nextAttemptAt: isoTimeOrNull(nextAttemptAt),
  lastAttemptAt: isoTimeOrNull(lastAttemptAt),
});

type Deliveries = Awaited<ReturnType<Admin["listDeliveries"]>>["items"];
