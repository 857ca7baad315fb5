import type { Admin } from "@patchbay/control-plane";
import { present } from "@patchbay/protocol";
import { type Command, Option } from "commander";
import { examples, option, overlapOption, parseCount } from "../options.ts";
import { fields, table } from "../table.ts";
import { adminCommand, administer, SHOWN_ONCE, type AdminOptions } from "./administer.ts";

type Shown = Awaited<ReturnType<Admin["setWebhook"]>>["webhook"];
type Status = NonNullable<Parameters<Admin["listDeliveries"]>[1]["status"]>;

const AGENT = { agent: "id of the agent, as `agents list` shows it" };

/** `agents webhook`: set, show, rotate, remove, test, deliveries and resend. A running server sends what these commands store. */
export function addWebhookCommands(agents: Command): void {
  const webhook = agents.command("webhook").description("report approvals and ends of runs to an address of yours");
  const set = adminCommand(
    webhook,
    "set <agent>",
    "add the webhook and show its secret once, or change its address",
    AGENT,
  )
    .addOption(
      option(
        "--url <url>",
        "address that deliveries are posted to; https, except for networks that the server allows",
      ).makeOptionMandatory(),
    )
    .action((agentId: string, { url, ...options }: AdminOptions & { url: string }) =>
      administer(
        options,
        async (admin) => {
          const { webhook, secret } = await admin.setWebhook(agentId, url);
          return { ...jsonOf(webhook), secret };
        },
        showWithSecret,
      ),
    );
  examples(set, "patchbay agents webhook set agt_... --url https://hooks.example.com/patchbay");
  adminCommand(webhook, "show <agent>", "show the webhook, without its secret", AGENT).action(
    (agentId: string, options: AdminOptions) =>
      administer(
        options,
        async (admin) => {
          const found = await admin.getWebhook(agentId);
          return found ? jsonOf(found) : { agentId, url: null };
        },
        (shown) => (shown.url === null ? `Agent ${agentId} has no webhook.` : show(shown)),
      ),
  );
  const rotate = adminCommand(webhook, "rotate <agent>", "replace the secret; shows the new one only once", AGENT)
    .addOption(overlapOption("how long deliveries are also signed with the old secret: 30m, 24h, 7d, or 0"))
    .action((agentId: string, { overlap, ...options }: AdminOptions & { overlap: number }) =>
      administer(
        options,
        async (admin) => {
          const { webhook, secret } = await admin.rotateWebhook(agentId, { overlapMs: overlap });
          return { ...jsonOf(webhook), secret };
        },
        showWithSecret,
      ),
    );
  examples(rotate, "patchbay agents webhook rotate agt_... --overlap 24h");
  adminCommand(webhook, "remove <agent>", "remove the webhook and give up the deliveries that wait", AGENT).action(
    (agentId: string, options: AdminOptions) =>
      administer(
        options,
        async (admin) => {
          await admin.removeWebhook(agentId);
          return { agentId };
        },
        () => `Agent ${agentId} has no webhook now.`,
      ),
  );
  addDeliveryCommands(webhook);
}

function addDeliveryCommands(webhook: Command): void {
  adminCommand(webhook, "test <agent>", "store a test delivery, which a running server sends", AGENT).action(
    (agentId: string, options: AdminOptions) =>
      administer(
        options,
        (admin) => admin.testWebhook(agentId),
        ({ deliveryId }) =>
          `Stored delivery ${deliveryId}. See its state with: patchbay agents webhook deliveries ${agentId}`,
      ),
  );
  adminCommand(webhook, "deliveries <agent>", "list deliveries, newest first", AGENT)
    .addOption(
      new Option("--status <status>", "only deliveries in this state").choices(["pending", "delivered", "failed"]),
    )
    .addOption(option("--limit <n>", "deliveries to show, 1 to 10000").argParser(parseCount).default(100))
    .action((agentId: string, options: AdminOptions & { status?: Status; limit: number }) =>
      administer(
        options,
        async (admin) => {
          const { limit, status } = options;
          const { items, nextCursor } = await admin.listDeliveries(agentId, { limit, ...present({ status }) });
          return { items: items.map(timesAsText), nextCursor };
        },
        ({ items }) =>
          table(
            ["delivery", "event", "status", "attempts", "last code", "last error", "next attempt"],
            items.map((one) => [
              one.deliveryId,
              one.type,
              one.status,
              String(one.attempts),
              String(one.lastStatus ?? ""),
              one.lastError ?? "",
              one.nextAttemptAt ?? "",
            ]),
            "No deliveries.",
          ),
      ),
    );
  adminCommand(webhook, "resend <agent> <delivery>", "send an ended delivery again, with the same id", {
    ...AGENT,
    delivery: "id of the delivery, as `deliveries` shows it",
  }).action((agentId: string, deliveryId: string, options: AdminOptions) =>
    administer(
      options,
      async (admin) => {
        await admin.resendDelivery(agentId, deliveryId);
        return { deliveryId };
      },
      () => `Delivery ${deliveryId} is pending again.`,
    ),
  );
}

const iso = (timeMs: number): string => new Date(timeMs).toISOString();

const jsonOf = ({ agentId, url, hint, previousUntil, createdAt }: Shown) => ({
  agentId,
  url,
  hint,
  previousEndsAt: previousUntil === undefined ? null : iso(previousUntil),
  createdAt: iso(createdAt),
});

const show = (shown: object): string =>
  fields(
    Object.entries(shown)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, String(value)]),
  );

const showWithSecret = (shown: object & { secret: string | null }): string =>
  shown.secret === null ? show(shown) : `${show(shown)}\n${SHOWN_ONCE}`;

function timesAsText({ createdAt, nextAttemptAt, lastAttemptAt, ...one }: Deliveries[number]) {
  return {
    ...one,
    createdAt: iso(createdAt),
    nextAttemptAt: nextAttemptAt === undefined ? null : iso(nextAttemptAt),
    lastAttemptAt: lastAttemptAt === undefined ? null : iso(lastAttemptAt),
  };
}

type Deliveries = Awaited<ReturnType<Admin["listDeliveries"]>>["items"];
