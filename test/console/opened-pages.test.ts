import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeConsole } from "./support/desk-console.ts";
import { fillPages, openPage } from "./support/open-page.ts";
import { expectAccessible, settled, sidewaysScroll } from "./support/page-checks.ts";

describeConsole("an opened part of a page", { prepare: fillPages }, (suite) => {
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
        await page.getByRole("separator", { name: "Panel width" }).waitFor();
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

  test.each(Object.entries(OPENED))(
    "%s is accessible and fits narrow screens",
    async (_name, { route, dialog, by }) => {
      const page = await openPage(suite, route, { viewport: { width: 1440, height: 900 }, colorScheme: "dark" });
      await by?.(page);
      if (dialog !== undefined) await page.getByRole("dialog", { name: dialog }).waitFor();
      await settled(page);

      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: "light" });
      await page.setViewportSize({ width: 360, height: 740 });
      await settled(page);
      await expectAccessible(page);
      expect(await sidewaysScroll(page), "horizontal scrolling at 360 px").toBe(0);
    },
  );
});
