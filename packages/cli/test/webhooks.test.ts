import { expect, test } from "vitest";
import { administration } from "./support/administration.ts";

test("a webhook is set, shown without its secret, tested, rotated and removed", async () => {
  await using admin = await administration();
  const { agentId = "" } = await admin.json("agents", "create", "Desk");
  const webhook = (...args: string[]) => admin.json("agents", "webhook", ...args);
  const missing = await admin.run("agents", "webhook", "test", agentId);
  expect(missing).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`agents webhook set ${agentId}`) as string,
  });

  const added = await webhook("set", agentId, "--url", "https://hooks.example/in/");
  const { deliveryId = "" } = await webhook("test", agentId);
  const shown = await webhook("show", agentId);
  const rotated = await webhook("rotate", agentId, "--overlap", "1h");

  expect(added).toMatchObject({ agentId, url: "https://hooks.example/in/", previousEndsAt: null });
  expect(added["secret"]).toMatch(/^patchbay_wh_/);
  expect(shown).not.toHaveProperty("secret");
  expect(shown["hint"]).toBe(added["hint"]);
  expect(rotated["secret"]).not.toBe(added["secret"]);
  expect(rotated["previousEndsAt"]).toMatch(/^\d{4}-/);
  const { items } = await webhook("deliveries", agentId, "--status", "pending");
  expect(items).toMatchObject([{ deliveryId, type: "webhook.test", attempts: 0 }]);
  const early = await admin.run("agents", "webhook", "resend", agentId, deliveryId);
  expect(early.stderr).toContain("waiting for its next attempt already");
  await webhook("remove", agentId);
  expect(await webhook("show", agentId)).toMatchObject({ url: null });
  expect((await admin.run("agents", "webhook", "deliveries", agentId)).stdout).toContain("The webhook was removed.");
});
