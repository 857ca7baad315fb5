import { verifyWebhook } from "@patchbay/client";
import { expect, test } from "vitest";
import { startReceiver } from "../../packages/server/test/webhooks/receiver.ts";
import { describeConsole } from "./support/desk-console.ts";
import { memberState } from "./support/members.ts";
import { expectAccessible, settled } from "./support/page-checks.ts";

describeConsole("the webhook of an agent", { webhookNetworks: ["127.0.0.1"] }, (suite) => {
  test("a member adds it, sends a test, sends it again, rotates its secret and removes it", async () => {
    await using receiver = await startReceiver();
    const { page, expect: expectFault } = await suite.visit();
    expectFault(/^400 PUT /);
    await page.goto(`${suite.desk.agentPath}/webhook`);
    await settled(page);

    await page.getByRole("button", { name: "Add a webhook" }).click();
    const adding = page.getByRole("dialog", { name: "Add a webhook" });
    await adding.getByLabel("Address").fill("ftp://127.0.0.1/");
    await adding.getByRole("button", { name: "Add" }).click();
    await adding.getByText("must be an address that begins with https://").first().waitFor();
    await adding.getByLabel("Address").fill(receiver.url);
    await adding.getByRole("button", { name: "Add" }).click();
    const made = page.getByRole("dialog", { name: "The webhook secret" });
    await made.getByRole("button", { name: "Show" }).click();
    const secret = await made.getByLabel("Secret").innerText();
    await made.getByRole("button", { name: "Done" }).click();

    await page.getByRole("button", { name: "Send a test" }).click();
    const [first] = await receiver.received(1);
    const deliveries = page.getByRole("region", { name: "Deliveries" });
    const row = deliveries.locator("li, tr").filter({ hasText: "webhook.test" });
    await row.getByText("delivered").waitFor();
    await row.locator("[data-row-link]").click();
    const panel = page.getByRole("dialog", { name: "webhook.test" });
    await panel.getByText("204", { exact: true }).waitFor();
    await expectAccessible(page);
    await panel.getByRole("button", { name: "Send again" }).click();
    const [, again] = await receiver.received(2);
    await panel.getByRole("button", { name: "Close" }).click();

    expect(again?.headers["x-patchbay-delivery"]).toBe(first?.headers["x-patchbay-delivery"]);
    const signature = again?.headers["x-patchbay-signature"];
    expect(await verifyWebhook({ body: again!.body, signature, secret })).toMatchObject({ type: "webhook.test" });

    await page.getByRole("button", { name: "Rotate secret" }).click();
    await page.getByRole("dialog", { name: "Rotate the secret" }).getByRole("button", { name: "Rotate" }).click();
    await made.getByRole("button", { name: "Done" }).click();
    await page.getByText("signs too until").waitFor();
    await page.getByRole("button", { name: "Remove" }).click();
    const removing = page.getByRole("dialog", { name: "Remove the webhook?" });
    await removing.getByRole("button", { name: "Remove" }).click();
    await page.getByText("No webhook yet").waitFor();
  });

  test("a viewer sees the receiver and changes nothing", async () => {
    const { desk } = suite;
    await desk.admin.setWebhook(desk.agentId, "https://hooks.example/in?key=s3cret");
    const storageState = await memberState(desk, desk.orgId, "viewer");
    const { page } = await suite.visit({ storageState });
    await page.goto(`${desk.agentPath}/webhook`);
    await settled(page);

    await page.getByText("https://hooks.example/…", { exact: true }).waitFor();
    expect(await page.content()).not.toContain("s3cret");
    for (const name of ["Send a test", "Change address", "Rotate secret", "Remove"])
      expect(await page.getByRole("button", { name }).isDisabled()).toBe(true);
  });
});
