import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { PICTURES } from "../support/browser.ts";
import { describeConsole } from "./support/desk-console.ts";
import { expectAccessible, settled } from "./support/page-checks.ts";

const order = z.object({ order_id: z.string() });
const shop = defineService({
  name: "shop",
  functions: [
    defineFunction({
      name: "get_order",
      description: "Gets the status of an order.",
      input: order,
      roles: ["agent"],
      effect: "read",
      handler: async () => "shipped",
    }),
    defineFunction({
      name: "cancel_order",
      description: "Cancels an order.",
      input: order,
      roles: ["agent"],
      effect: "destructive",
      handler: async () => "cancelled",
    }),
    // Without an effect: a write.
    defineFunction({
      name: "note_order",
      description: "Notes something about an order.",
      input: order,
      roles: ["agent"],
      handler: async () => "noted",
    }),
  ],
});

describeConsole("running again", { service: shop }, (suite) => {
  const ask = (query: string) => suite.desk.query(query, { role: "agent" });
  const runPage = (runId: string) => suite.open(`${suite.desk.agentPath}/runs/${runId}`);

  test("starts at once for a run that only read", async () => {
    const { runId } = await ask("Get order W1");
    const page = await runPage(runId);
    await page.getByRole("button", { name: "Run again" }).click();

    await page.waitForURL((url) => !url.pathname.endsWith(runId));
    await page.getByText("Repeats").waitFor();
  });

  test("asks first for a run that wrote or destroyed, and lists its calls", async () => {
    const { runId } = await ask("Cancel order W48213");
    const page = await runPage(runId);
    const again = page.getByRole("button", { name: "Run again" });
    await again.click();
    const dialog = page.getByRole("dialog", { name: "Run it again?" });
    const call = await dialog.getByRole("listitem").first().innerText();
    expect(call).toMatch(/cancel_order\s+destructive\s+ok\s+order_id: "W48213"/);
    await expectAccessible(page);
    await page.screenshot({ path: `${PICTURES}run-again.png` });
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(new URL(page.url()).pathname).toMatch(new RegExp(`${runId}$`));
    await page.getByText("Repeated by").waitFor({ state: "detached" });

    await again.click();
    await dialog.getByRole("button", { name: "Run again" }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(runId));
    await page.getByText("Repeats").waitFor();
  });

  test("several runs lists the calls of all that wrote, an undeclared effect too", async () => {
    await ask("Note order W77");
    const page = await suite.open(`${suite.desk.agentPath}/runs`);
    await page.getByRole("checkbox", { name: /^Select the \d+ loaded runs$/ }).click();
    await page.getByRole("button", { name: "Run again" }).click();
    const dialog = page.getByRole("dialog", { name: /^Run \d+ runs again\?$/ });
    await dialog.getByText('order_id: "W77"').waitFor();
    const calls = await dialog.getByRole("listitem").allInnerTexts();
    expect(calls.some((text) => /note_order\s+write/.test(text))).toBe(true);
    expect(calls.some((text) => /cancel_order\s+destructive/.test(text))).toBe(true);
    expect(calls.some((text) => text.includes("get_order"))).toBe(false);
    await expectAccessible(page);
    await page.screenshot({ path: `${PICTURES}run-again-several.png` });
    await dialog.getByRole("button", { name: "Cancel" }).click();
  });

  test("several runs that only read lists nothing", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/runs?q=Get`);
    await page.getByRole("checkbox", { name: /^Select the \d+ loaded runs?$/ }).click();
    await page.getByRole("button", { name: "Run again" }).click();
    const dialog = page.getByRole("dialog", { name: /again\?$/ });
    await expect.poll(() => dialog.getByRole("button", { name: "Run again" }).isEnabled()).toBe(true);
    expect(await dialog.getByRole("listitem").count()).toBe(0);
  });

  test("a query of the playground asks first if its calls wrote or destroyed", async () => {
    const { runId } = await ask("Cancel order W500");
    const page = await suite.open(`${suite.desk.agentPath}/playground?again=${runId}`);
    const field = page.getByRole("textbox", { name: "Query" });
    await field.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Run it again?" });
    await dialog.getByText('order_id: "W500"').waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await field.inputValue()).toBe("Cancel order W500");
    await field.press("Enter");
    await dialog.getByRole("button", { name: "Run again" }).click();
    const conversation = page.getByRole("list", { name: "Conversation" });
    await conversation.getByText("succeeded").waitFor();
    expect(await field.inputValue()).toBe("");

    await conversation.getByRole("button", { name: "Edit and run again" }).click();
    await page.getByRole("button", { name: "Send in new thread" }).click();
    await dialog.getByText('order_id: "W500"').waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await page.getByRole("textbox", { name: "Edited query" }).inputValue()).toBe("Cancel order W500");
    await settled(page);
  });
});
