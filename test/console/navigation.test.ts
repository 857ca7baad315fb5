import { expect, test } from "vitest";
import { pendingOrder } from "../support/retail.ts";
import { describeConsole } from "./support/desk-console.ts";
import { expectAccessible, settled, sidewaysScroll } from "./support/page-checks.ts";

describeConsole("between pages", {}, (suite) => {
  test("the menu of the agent and the time range stay, on pages of the organisation too", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/analytics`, { viewport: { width: 1440, height: 900 } });
    const menu = page.getByRole("navigation", { name: "Pages" });
    await page.getByRole("button", { name: /^Time range/ }).click();
    await page.getByRole("button", { name: "Last 90 days" }).click();
    await page.waitForURL(/range=90d/);
    await page.keyboard.press("Escape");

    await menu.getByRole("link", { name: "Audit" }).click();
    await page.waitForURL(/\/audit\?range=90d$/);
    await page.getByRole("button", { name: "Time range: Last 90 days" }).waitFor();
    // A page without a time range between them does not lose it.
    await menu.getByRole("link", { name: "Keys" }).click();
    await page.waitForURL(/\/keys$/);
    await Promise.all(["g", "l"].map((key) => page.keyboard.press(key)));
    await page.waitForURL(/\/audit\?range=90d$/);
    await page.reload();
    await settled(page);

    await menu.getByRole("link", { name: "Functions" }).click();
    await page.waitForURL(
      ({ pathname, search }) => pathname.startsWith(suite.desk.agentPath) && search === "?range=90d",
    );
  });

  test.each([1440, 390])(
    "a page of %d px has its frame before the session is known, and nothing moves",
    async (width) => {
      const { page } = await suite.visit({ viewport: { width, height: 900 } });
      const held = Promise.withResolvers<void>();
      await page.route("**/api/session", async (route) => {
        await held.promise;
        await route.continue();
      });
      const parts = {
        header: page.getByRole("banner"),
        logo: page.getByRole("banner").locator("svg:has(rect)").first(),
        main: page.getByRole("main"),
      };
      const places = async () => {
        const boxes = Object.entries(parts).map(async ([name, part]) => {
          const { x, y, width } = (await part.boundingBox())!;
          return [name, { x, y, width }];
        });
        return Object.fromEntries(await Promise.all(boxes)) as object;
      };

      await page.goto("/console/members");
      await page.getByText("Loading page").waitFor();
      const before = await places();
      held.resolve();
      await page.getByRole("heading", { level: 1, name: "Members" }).waitFor();

      expect(await places()).toEqual(before);
    },
  );

  test("the menu of a deleted agent disappears", async () => {
    const { agentId } = await suite.desk.admin.createAgent("Short-lived", { orgId: suite.desk.orgId });
    const { page } = await suite.visit({ viewport: { width: 1440, height: 900 }, expects: [/^404 GET /] });
    await page.goto(`/console/agents/${agentId}/keys`);
    const menu = page.getByRole("navigation", { name: "Pages" });
    await menu.getByRole("heading", { name: "Short-lived" }).waitFor();
    await suite.desk.admin.deleteAgent(agentId);

    await page.goto("/console/members");
    await menu.getByRole("link", { name: "Credits" }).waitFor();
    await expect.poll(() => menu.getByRole("heading", { name: "Short-lived" }).count()).toBe(0);
  });
});

describeConsole("the panel of a run", {}, (suite) => {
  test.each([
    [1280, "light"],
    [1440, "dark"],
  ] as const)("is resized by keys and by the pointer at %i px, %s, and keeps its width", async (width, colorScheme) => {
    const { runId } = await suite.desk.query(`What is the status of order ${pendingOrder.orderId}?`, { role: "agent" });
    const page = await suite.open(`${suite.desk.agentPath}/runs/${runId}`, {
      viewport: { width, height: 900 },
      colorScheme,
    });
    expect(await page.getByRole("separator").count()).toBe(0);
    const waterfall = page.getByRole("treegrid", { name: "Waterfall" });
    await waterfall.getByRole("row", { name: /get_order_details/ }).click();
    const handle = page.getByRole("separator", { name: "Panel width" });
    const percent = async () => Number(await handle.getAttribute("aria-valuenow"));
    await expect.poll(percent).toBe(36);
    await expectAccessible(page);

    await handle.focus();
    await page.keyboard.press("ArrowLeft");
    await expect.poll(percent).toBe(38);
    const { x, y } = (await handle.boundingBox())!;
    await page.mouse.move(x + 8, y + 20);
    await page.mouse.down();
    await page.mouse.move(x - 150, y + 20);
    await page.mouse.up();
    await expect.poll(percent).toBeGreaterThan(45);
    const wide = await percent();
    expect(await sidewaysScroll(page)).toBe(0);

    await page.reload();
    await settled(page);
    await expect.poll(percent).toBe(wide);
    await handle.dblclick();
    await expect.poll(percent).toBe(36);
  });
});
