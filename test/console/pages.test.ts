import { expect, test } from "vitest";
import { PICTURES } from "../support/browser.ts";
import { describeConsole } from "./support/desk-console.ts";
import { fillPages, openPage } from "./support/open-page.ts";
import { expectAccessible, settled, sidewaysScroll } from "./support/page-checks.ts";
import { PAGES } from "@patchbay/test-support/console-pages";
import { ALL_WIDTHS } from "./support/rows.ts";

describeConsole("a page with data", { prepare: fillPages }, (suite) => {
  test.each(Object.entries(PAGES))(
    "%s has a title, is accessible in both themes and fits narrow screens",
    async (_name, route) => {
      const page = await openPage(suite, route, { viewport: { width: 1440, height: 900 } });

      expect(await page.getByRole("heading", { level: 1 }).count()).toBe(1);
      expect(await page.title()).toMatch(/^\S.* · Patchbay$/);

      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: "dark" });
      await page.setViewportSize({ width: 390, height: 844 });
      await settled(page);
      await expectAccessible(page);

      await page.setViewportSize({ width: 360, height: 740 });
      await settled(page);
      expect(await sidewaysScroll(page), "horizontal scrolling at 360 px").toBe(0);
    },
  );

  test.runIf(ALL_WIDTHS).each(Object.entries(PAGES))(
    "%s is accessible and fits each width in both themes",
    async (name, route) => {
      for (const width of [1024, 1280, 1440, 390])
        for (const colorScheme of ["light", "dark"] as const) {
          const page = await openPage(suite, route, { viewport: { width, height: 844 }, colorScheme });
          await page.screenshot({ path: `${PICTURES}${name}-${colorScheme}-${width}.png`, fullPage: true });
          await expectAccessible(page);
          expect(await sidewaysScroll(page), `horizontal scrolling at ${width} px, ${colorScheme}`).toBe(0);
          await page.context().close();
        }
    },
  );
});
