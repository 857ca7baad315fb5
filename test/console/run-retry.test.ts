import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { PICTURES } from "../support/browser.ts";
import { startStandIn } from "@patchbay/test-support/providers";
import { describeConsole } from "./support/desk-console.ts";
import { expectAccessible } from "./support/page-checks.ts";

let up = false;
let cancelled = 0;
const standIn = await startStandIn("anthropic", ({ step }) => {
  if (step > 0) return up ? { text: "The order is cancelled." } : { error: { status: 401 } };
  return { calls: [{ name: "cancel_order", arguments: { order_id: "W1" } }] };
});
afterAll(() => standIn[Symbol.asyncDispose]());

const shop = defineService({
  name: "shop",
  functions: [
    defineFunction({
      name: "cancel_order",
      description: "Cancels an order.",
      input: z.object({ order_id: z.string() }),
      roles: everyone,
      effect: "destructive",
      async handler() {
        cancelled++;
        return "cancelled";
      },
    }),
  ],
});

describeConsole("retrying", { service: shop, providers: standIn.config }, (suite) => {
  test("lists the calls that are not made again, and continues the run", async () => {
    const { runId } = await suite.desk.query("Cancel order W1");
    const page = await suite.open(`${suite.desk.agentPath}/runs/${runId}`);
    await page.getByRole("button", { name: "Retry" }).click();
    const dialog = page.getByRole("dialog", { name: "Retry this run?" });
    const calls = dialog.getByRole("list", { name: "Calls that write or destroy" });
    expect(await calls.getByRole("listitem").allInnerTexts()).toEqual([
      expect.stringMatching(/cancel_order\s+destructive\s+ok\s+order_id: "W1"/),
    ]);
    await expectAccessible(page);
    await page.screenshot({ path: `${PICTURES}run-retry.png` });
    up = true;
    await dialog.getByRole("button", { name: "Retry" }).click();

    await page.waitForURL((url) => !url.pathname.endsWith(runId));
    await page.getByText("Continues").waitFor();
    await page.getByText("The order is cancelled.").first().waitFor();
    expect(cancelled).toBe(1);
    await page.goto(`${suite.desk.agentPath}/runs/${runId}`);
    await page.getByText("Continued by").waitFor();
    expect(await page.getByRole("button", { name: "Retry" }).count()).toBe(0);
  });

  test("begins with the view of the runs that ended after writes", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/runs`);
    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("menuitem", { name: /^Ended after writes/ }).click();

    await page.waitForURL(/trouble=writes/);
    await page.getByText("failed").first().waitFor();
  });
});
