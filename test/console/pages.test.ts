import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { PICTURES, visit, type VisitOptions } from "../support/browser.ts";
import { askAround, describeConsole, type DeskConsole } from "./support/desk-console.ts";
import { expectAccessible, settled, sidewaysScroll } from "./support/page-checks.ts";
import { PAGES } from "./support/pages.ts";

/** Values of the parameters in the routes. */
let ids: Record<string, string>;

async function prepare(desk: DeskConsole): Promise<void> {
  const { answered, denied } = await askAround(desk);
  const { agentId: emptyAgentId } = await desk.admin.createAgent("Empty", { orgId: desk.orgId });
  ids = {
    agentId: desk.agentId,
    emptyAgentId,
    runId: denied.runId ?? "",
    threadId: answered.threadId,
    functionName: "get_order_details",
  };
}

describeConsole("a page with data", { prepare }, (suite) => {
  const urlOf = (route: string) => `/console${route.replaceAll(/\$(\w+)/g, (_, name: string) => ids[name] ?? "")}`;

  async function open(route: string, options: VisitOptions = {}): Promise<Page> {
    const anonymous = route === PAGES["sign-in"] || route === PAGES.link;
    const visitOptions: VisitOptions = { reducedMotion: "reduce", ...options };
    const { page } = await (anonymous ? visit(suite.desk.url, visitOptions) : suite.visit(visitOptions));
    await page.goto(urlOf(route));
    await settled(page);
    return page;
  }

  test.each(Object.entries(PAGES))(
    "%s has a title, is accessible in both themes and fits narrow screens",
    async (name, route) => {
      const page = await open(route, { viewport: { width: 1440, height: 900 } });
      const screenshot = (theme: string, width: number) =>
        page.screenshot({ path: `${PICTURES}${name}-${theme}-${width}.png`, fullPage: true });

      expect(await page.getByRole("heading", { level: 1 }).count()).toBe(1);
      expect(await page.title()).toMatch(/^\S.* · Patchbay$/);

      await screenshot("light", 1440);
      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: "dark" });
      await screenshot("dark", 1440);
      await page.setViewportSize({ width: 390, height: 844 });
      await settled(page);
      await screenshot("dark", 390);
      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: "light" });
      await screenshot("light", 390);

      await page.setViewportSize({ width: 360, height: 740 });
      await settled(page);
      expect(await sidewaysScroll(page), "horizontal scrolling at 360 px").toBe(0);
    },
  );

  test.runIf(process.env["PATCHBAY_TEST_WIDTHS"] === "all").each(Object.entries(PAGES))(
    "%s is accessible and fits each width in both themes",
    async (name, route) => {
      for (const width of [1024, 1280, 1440, 390])
        for (const colorScheme of ["light", "dark"] as const) {
          const page = await open(route, { viewport: { width, height: 844 }, colorScheme });
          await page.screenshot({ path: `${PICTURES}${name}-${colorScheme}-${width}.png`, fullPage: true });
          await expectAccessible(page);
          expect(await sidewaysScroll(page), `horizontal scrolling at ${width} px, ${colorScheme}`).toBe(0);
          await page.context().close();
        }
    },
  );

  /** Dialogs, panels and states that need an action: the route, the accessible name of the dialog, and the action. */
  const OPENED: Record<string, { route: string; dialog?: string | RegExp; by?: (page: Page) => Promise<void> }> = {
    "new-agent": { route: "/agents?create=1", dialog: "New agent" },
    "new-key": { route: "/agents/$agentId/keys?create=api", dialog: "New API key" },
    "new-member": { route: "/members?create=1", dialog: "Invite a member" },
    "one-key": {
      route: "/agents/$agentId/keys",
      dialog: /./,
      by: (page) => page.locator("[data-row-link]").first().click(),
    },
    "audit-entry": { route: "/audit", dialog: /./, by: (page) => page.locator("[data-row-link]").first().click() },
    "one-span": {
      route: "/agents/$agentId/runs/$runId",
      by: async (page) => {
        await page.getByRole("row", { name: /get_order_details/ }).click();
        await page.getByRole("separator", { name: "Width of the panel" }).waitFor();
      },
    },
    "matrix-cell": {
      route: "/agents/$agentId/access",
      dialog: "get_order_details",
      by: (page) => page.getByRole("button", { name: /^get_order_details, customer/ }).click(),
    },
    "first-steps": { route: "/agents/$emptyAgentId" },
    "run-filters": { route: "/agents/$agentId/runs?trouble=denied&minCostUsd=0&model=offline" },
    "run-feedback": { route: "/agents/$agentId/runs/$runId?view=feedback" },
    "access-model": { route: "/agents/$agentId/access?view=model&as=customer" },
    "access-changes": { route: "/agents/$agentId/access?view=changes" },
    palette: { route: "/audit", dialog: "Search", by: (page) => page.keyboard.press("Control+k") },
    answer: { route: "/agents/$agentId/playground?thread=$threadId&tab=events" },
  };

  test.each(Object.entries(OPENED))("%s is accessible and fits narrow screens", async (name, { route, dialog, by }) => {
    const page = await open(route, { viewport: { width: 1440, height: 900 }, colorScheme: "dark" });
    await by?.(page);
    if (dialog !== undefined) await page.getByRole("dialog", { name: dialog }).waitFor();
    await settled(page);

    await page.screenshot({ path: `${PICTURES}${name}-dark-1440.png` });
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 360, height: 740 });
    await settled(page);
    await page.screenshot({ path: `${PICTURES}${name}-light-360.png` });
    await expectAccessible(page);
    expect(await sidewaysScroll(page), "horizontal scrolling at 360 px").toBe(0);
  });
});
