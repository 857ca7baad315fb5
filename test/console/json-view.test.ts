import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { describeConsole } from "./support/desk-console.ts";
import { expectAccessible, sidewaysScroll } from "./support/page-checks.ts";
import { edgesOf } from "./support/rows.ts";

const orders = Array.from({ length: 1_000 }, (_, i) => ({
  id: `W${i}`,
  address: { city: i === 333 ? "Reykjavik" : "Rome" },
}));

const listOrders = defineFunction({
  name: "list_orders",
  description: "Lists all orders.",
  input: z.object({}),
  roles: "everyone",
  effect: "read",
  handler: () => ({ orders, note: "all of them" }),
});
const service = defineService({ name: "orders", functions: [listOrders] });

describeConsole("a large JSON value", { service }, (suite) => {
  async function openResult(options: { width?: number; colorScheme?: "light" | "dark" } = {}) {
    const { width = 1280, colorScheme = "light" } = options;
    const page = await suite.open(`${suite.desk.agentPath}/functions/list_orders`, {
      viewport: { width, height: 900 },
      colorScheme,
    });
    await page.getByRole("button", { name: "Call without a role" }).click();
    const tree = page.getByRole("region", { name: "Value returned", exact: true });
    await tree.waitFor();
    return { page, tree };
  }

  test("is searched in names and values, and only the branches of matches are shown", async () => {
    const { page, tree } = await openResult();
    expect(await tree.getByText("Reykjavik").count()).toBe(0);

    await page.getByRole("searchbox", { name: "Search in Value returned" }).fill("reykja");
    await tree.getByText("Reykjavik").waitFor();
    await page.getByText("1 match", { exact: true }).waitFor();
    expect(await tree.locator("mark").allInnerTexts()).toEqual(["Reykja"]);
    expect(await tree.getByText("Rome").count()).toBe(0);

    await page.getByRole("searchbox", { name: "Search in Value returned" }).fill("nowhere");
    await page.getByText("0 matches", { exact: true }).waitFor();
    await expectAccessible(page);
  });

  test("is expanded, shown as text and shown at full width", async () => {
    const { page, tree } = await openResult();
    await page.getByRole("button", { name: "Expand all" }).click();
    await tree.getByText('"Rome"').first().waitFor();
    await page.getByRole("button", { name: "Collapse all" }).click();
    await tree.getByText('"Rome"').first().waitFor({ state: "detached" });

    await page.getByRole("button", { name: "Show as text" }).click();
    await page.locator("pre").getByText('"id": "W399"').waitFor();

    await page.getByRole("button", { name: "Full width" }).click();
    const dialog = page.getByRole("dialog", { name: "Value returned" });
    await dialog.getByRole("searchbox").fill("W12");
    await dialog.getByText("11 matches").waitFor();
    const box = await dialog.boundingBox();
    expect(box!.width).toBeGreaterThan(1_200);
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  test("of which the page of a run has a part is loaded as a whole", async () => {
    const { page } = await openResult();
    await page.getByRole("link", { name: "Open run" }).click();
    await page
      .getByRole("treegrid", { name: "Waterfall" })
      .getByRole("row", { name: /list_orders/ })
      // The row of the run, "call of list_orders", is above that of the call.
      .last()
      .click();
    await page.getByRole("tab", { name: "Output" }).click();
    const search = page.getByRole("searchbox", { name: "Search in Output" });
    await search.fill("W999");
    await page.getByText("0 matches", { exact: true }).waitFor();

    await page.getByRole("button", { name: "Load all" }).click();
    await page.getByRole("button", { name: "Load all" }).waitFor({ state: "detached" });
    await search.fill("W999");
    await page.getByText("1 match", { exact: true }).waitFor();
  });

  test.each(
    edgesOf([
      [390, "light"],
      [1024, "dark"],
      [1440, "light"],
      [1440, "dark"],
    ]),
  )("is accessible at %i px, %s", async (width, colorScheme) => {
    const { page } = await openResult({ width, colorScheme });

    expect(await sidewaysScroll(page)).toBe(0);
    await expectAccessible(page);
  });
});
