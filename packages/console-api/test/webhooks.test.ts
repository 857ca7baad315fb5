import type { ConsoleWebhook, WebhookDelivery } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { failureOf, openConsole } from "./support/open-console.ts";

async function openWebhooks() {
  const console = await openConsole();
  const { agentId } = await console.admin.createAgent("Clerk", { orgId: console.orgId });
  const [developer, viewer] = [await console.member("developer"), await console.member("viewer")];
  const path = `/api/agents/${agentId}/webhook`;
  async function json<T>(method: string, more = "", body?: object): Promise<T> {
    const response = await developer.ask(method, `${path}${more}`, body && { body });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as T;
  }
  return { ...console, agentId, developer, viewer, path, json };
}

type Saved = { webhook: ConsoleWebhook; secret: string | null };

test("a webhook is added with a secret that is shown once, changed, rotated and removed, each with an audit entry", async () => {
  await using desk = await openWebhooks();
  expect(await desk.json("GET")).toEqual({ webhook: null });

  const added = await desk.json<Saved>("PUT", "", { url: "https://hooks.example/in?key=1" });
  const changed = await desk.json<Saved>("PUT", "", { url: "https://other.example" });
  const rotated = await desk.json<Saved>("POST", "/rotate", { overlapSeconds: 60 });
  const shown = await desk.json<{ webhook: ConsoleWebhook }>("GET");

  expect(added.secret).toMatch(/^patchbay_wh_[0-9A-Za-z]{40}$/);
  expect(changed).toMatchObject({ secret: null, webhook: { url: "https://other.example/", hint: added.webhook.hint } });
  expect(rotated.secret).not.toBe(added.secret);
  expect(rotated.webhook.hint).toBe(`…${rotated.secret!.slice(-4)}`);
  expect(shown.webhook).toEqual(rotated.webhook);
  expect(Date.parse(shown.webhook.previousEndsAt!)).toBe(desk.clock.now() + 60_000);
  expect((await desk.developer.ask("DELETE", desk.path)).status).toBe(204);
  expect((await desk.developer.ask("DELETE", desk.path)).status).toBe(204);
  const { items } = await desk.store.audit.list({ agentId: desk.agentId, action: "webhook", limit: 9 });
  expect(items.map(({ action, detail, keyId }) => [action, detail, keyId])).toEqual(
    [
      ["webhook.added", { host: "hooks.example" }],
      ["webhook.changed", { host: "other.example" }],
      ["webhook.rotated", { overlapSeconds: 60 }],
      ["webhook.removed", undefined],
    ]
      .toReversed()
      .map((entry) => [...entry, desk.developer.memberId]),
  );
});

test("a test is stored, listed, and sent again once it has ended", async () => {
  await using desk = await openWebhooks();
  expect(await failureOf(await desk.developer.ask("POST", `${desk.path}/test`))).toEqual([409, "conflict"]);
  await desk.json("PUT", "", { url: "https://hooks.example" });

  const { deliveryId } = await desk.json<{ deliveryId: string }>("POST", "/test");
  const again = () => desk.developer.ask("POST", `${desk.path}/deliveries/${deliveryId}/resend`);
  expect(await failureOf(await again())).toEqual([409, "conflict"]);
  const [claimed] = await desk.store.webhooks.claim(desk.agentId, { limit: 1, leaseMs: 1 });
  await desk.store.webhooks.settle(claimed!.delivery, { delivered: true, status: 200, durationMs: 7, retryInMs: 0 });

  const delivered = await desk.json<{ items: WebhookDelivery[] }>("GET", "/deliveries?status=delivered");
  expect(delivered.items).toMatchObject([
    { deliveryId, type: "webhook.test", attempts: 1, lastStatus: 200, lastDurationMs: 7, nextAttemptAt: null },
  ]);
  expect((await again()).status).toBe(204);
  const pending = await desk.json<{ items: WebhookDelivery[] }>("GET", "/deliveries?status=pending");
  expect(pending.items).toMatchObject([{ deliveryId, nextAttemptAt: new Date(desk.clock.now()).toISOString() }]);
  const unknown = await desk.developer.ask("POST", `${desk.path}/deliveries/whd_none/resend`);
  expect(await failureOf(unknown)).toEqual([404, "not_found"]);
});

test.each(["ftp://hooks.example", "hooks.example", "", "https://user:secret@hooks.example", "javascript:alert(1)"])(
  "the address %j is refused",
  async (url) => {
    await using desk = await openWebhooks();
    const response = await desk.developer.ask("PUT", desk.path, { body: { url } });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid_request", details: [{ path: "url" }] });
  },
);

test("a viewer reads, and changes nothing; a change needs a recent password", async () => {
  await using desk = await openWebhooks();
  await desk.json("PUT", "", { url: "https://hooks.example/in/s3cret?key=1" });
  const changes = [
    ["PUT", "", { url: "https://evil.example" }],
    ["DELETE", "", undefined],
    ["POST", "/rotate", { overlapSeconds: 0 }],
    ["POST", "/test", undefined],
    ["POST", "/deliveries/whd_1/resend", undefined],
  ] as const;

  const read = await desk.viewer.ask("GET", desk.path);
  expect(await read.json()).toMatchObject({ webhook: { url: "https://hooks.example/…" } });
  expect(await desk.json("GET")).toMatchObject({ webhook: { url: "https://hooks.example/in/s3cret?key=1" } });
  for (const [method, more, body] of changes) {
    const refused = await desk.viewer.ask(method, desk.path + more, body && { body });
    expect(await failureOf(refused)).toEqual([403, "console_role_required"]);
  }
  desk.clock.advance(16 * 60_000);
  for (const [method, more, body] of changes.slice(0, 3)) {
    const refused = await desk.developer.ask(method, desk.path + more, body && { body });
    expect(await failureOf(refused)).toEqual([403, "confirmation_required"]);
  }
});
