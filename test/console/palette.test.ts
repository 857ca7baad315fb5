import { expect, test } from "vitest";
import { pendingOrder } from "../support/retail.ts";
import { describeConsole, type DeskConsole } from "./support/desk-console.ts";
import { memberState } from "./support/members.ts";
import { settled } from "./support/page-checks.ts";

let runId: string;
async function prepare(desk: DeskConsole): Promise<void> {
  ({ runId } = await desk.query(`What is the status of order ${pendingOrder.orderId}?`, {
    role: "agent",
    sessionId: "visit-3",
  }));
}

describeConsole("the palette", { prepare }, (suite) => {
  test("finds runs, functions, sessions and keys of all agents from a page of the organisation", async () => {
    const page = await suite.open("/console/members");
    const search = async (text: string) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog", { name: "Search" }).waitFor();
      await page.keyboard.type(text);
      await page.getByRole("option").filter({ hasNotText: "Loading" }).first().waitFor();
    };
    await search(runId);
    await page.getByRole("option", { name: /What is the status/ }).click();
    await expect.poll(() => page.url()).toContain(`/runs/${runId}`);

    await page.goto("/console/members");
    await settled(page);
    await search("get_order_det");
    await page.getByRole("option", { name: "get_order_details" }).click();
    await expect.poll(() => page.url()).toContain("/functions/get_order_details");

    await page.goto("/console/members");
    await settled(page);
    await search("visit-3");
    await page.getByRole("option", { name: /visit-3/ }).click();
    await expect.poll(() => page.url()).toContain("sessionId=visit-3");
    await page.getByRole("link", { name: /What is the status/ }).waitFor();
  });

  test("finds nothing of another organisation, and says so", async () => {
    const { orgId } = await suite.desk.admin.createOrg("Other");
    const page = await suite.open("/console/members", { storageState: await memberState(suite.desk, orgId, "owner") });
    await page.keyboard.press("Control+k");
    await page.keyboard.type(runId);

    await page.getByText("No results").waitFor();
    expect(await page.getByRole("option").count()).toBe(0);
  });
});
