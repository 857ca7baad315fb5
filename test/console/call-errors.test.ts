import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { z } from "zod";
import { describeConsole } from "./support/desk-console.ts";
import { countedClicks } from "./support/members.ts";
import { expectAccessible, settled, sidewaysScroll } from "./support/page-checks.ts";

const SHOP = defineService({
  name: "shop",
  functions: [
    defineFunction({
      name: "load_order",
      description: "Loads the newest order.",
      input: z.object({}),
      roles: everyone,
      effect: "read",
      handler() {
        throw new RangeError("page 7 of the orders is empty");
      },
    }),
    defineFunction({
      name: "load_all",
      description: "Loads all orders.",
      input: z.object({}),
      roles: everyone,
      effect: "read",
      handler() {
        throw new RangeError("a page of the orders is empty. ".repeat(40));
      },
    }),
  ],
});

const QUESTION = "Load the newest order";
const WIDE = { viewport: { width: 1440, height: 900 } };

describeConsole("a function that failed", { service: SHOP, reportErrors: true }, (suite) => {
  test("two clicks show what it threw, and a test call shows it too", async () => {
    await suite.desk.query(QUESTION);
    const page = await suite.open(`${suite.desk.agentPath}/runs`, WIDE);
    const clicks = countedClicks();

    await clicks.click(page.getByRole("link", { name: QUESTION }));
    await clicks.click(page.getByRole("treegrid").getByRole("row").filter({ hasText: "load_order" }).first());

    await page.getByText("RangeError: page 7 of the orders is empty").first().waitFor();
    expect(clicks.count).toBeLessThanOrEqual(3);
    await page.locator("pre").filter({ hasText: "call-errors.test.ts" }).first().waitFor();
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await settled(page);
    expect(await sidewaysScroll(page)).toBe(0);

    await page.setViewportSize(WIDE.viewport);
    await page.goto(`${suite.desk.agentPath}/functions/load_order?tab=try`);
    await page.getByRole("button", { name: "Call without a role" }).click();
    await page.getByText("RangeError: page 7 of the orders is empty").first().waitFor();
    expect(await page.getByRole("button", { name: "Show all" }).count()).toBe(0);
  });

  test("a long message has three lines until it is shown whole", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/functions/load_all?tab=try`, WIDE);
    await page.getByRole("button", { name: "Call without a role" }).click();
    const title = page.getByText(/^Thrown by your code/);
    const isCut = () => title.evaluate(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight);
    await page.getByRole("button", { name: "Show all" }).waitFor();
    expect(await isCut()).toBe(true);
    await expectAccessible(page);

    await page.getByRole("button", { name: "Show all" }).click();
    await page.getByRole("button", { name: "Show less" }).waitFor();
    expect(await isCut()).toBe(false);
  });
});

describeConsole("a function that failed without the owner's opt-in", { service: SHOP }, (suite) => {
  test("the run page names the runtime and the reference for its log", async () => {
    const { runId, toolInteractions } = await suite.desk.query(QUESTION);
    const reference = /[0-9a-f]{12}$/.exec(toolInteractions[0]?.errorMessage ?? "")?.[0] ?? "none";
    const page = await suite.open(`${suite.desk.agentPath}/runs/${runId}`, WIDE);

    await page.getByRole("treegrid").getByRole("row").filter({ hasText: "load_order" }).first().click();

    const where = page.getByText("The error is in the log of runtime");
    await where.waitFor();
    // The desk of the suite has no deployment.
    expect(await where.innerText()).toContain(` ${hostname()} `);
    expect(await where.innerText()).toContain(`Search it for ${reference}.`);
    expect(await page.getByText("page 7 of the orders").count()).toBe(0);
  });
});
