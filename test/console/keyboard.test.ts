import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { askAround, describeConsole } from "./support/desk-console.ts";
import { settled, sidewaysScroll } from "./support/page-checks.ts";

describeConsole(
  "the console with the keyboard, with reduced motion, and zoomed",
  { prepare: async (desk) => void (await askAround(desk)) },
  (suite) => {
    /** The text of the focused element. */
    const focused = (page: Page) => page.evaluate<string>("document.activeElement?.innerText ?? ''");

    test("Ctrl-K searches a page by its name and opens it", async () => {
      const page = await suite.open("/console/agents");

      await page.keyboard.press("Control+k");
      await page.getByRole("dialog", { name: "Search" }).getByRole("combobox").and(page.locator(":focus")).waitFor();
      await page.keyboard.type("audi");
      await page.getByRole("option", { name: "Audit" }).and(page.locator("[data-highlighted]")).waitFor();
      await page.keyboard.press("Enter");

      await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    });

    test("keys typed after Ctrl-K reach the search while its code loads, and do not open pages", async () => {
      const { page } = await suite.visit();
      const released = Promise.withResolvers<void>();
      await page.route(/\/palette-[^/]*\.js$/, async (route) => {
        await released.promise;
        await route.continue();
      });
      await page.goto(`${suite.desk.agentPath}/runs`);
      await settled(page);
      await page.locator("[data-search-field]").focus();

      await page.keyboard.press("Control+k");
      await page.keyboard.type("gex");
      await page.keyboard.press("Backspace");
      await page.keyboard.type("t_");
      released.resolve();
      await page.keyboard.type("order");
      await page.getByRole("dialog", { name: "Search" }).getByRole("combobox").waitFor();
      await page.keyboard.type("_details");

      const field = page.getByRole("dialog", { name: "Search" }).getByRole("combobox");
      await expect.poll(() => field.inputValue()).toBe("get_order_details");
      expect(new URL(page.url()).pathname).toBe(`${suite.desk.agentPath}/runs`);
      expect(await page.locator("[data-search-field]").inputValue()).toBe("");
    });

    test("a page that loads while the search is open leaves the focus in it", async () => {
      const { page } = await suite.visit();
      const released = Promise.withResolvers<void>();
      await page.route(/\/threads-page-[^/]*\.js$/, async (route) => {
        await released.promise;
        await route.continue();
      });
      await page.goto(`${suite.desk.agentPath}/runs`);
      await settled(page);
      await Promise.all(["g", "t"].map((key) => page.keyboard.press(key)));
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog", { name: "Search" }).getByRole("combobox").and(page.locator(":focus")).waitFor();
      released.resolve();
      await page.locator("h1", { hasText: "Threads" }).waitFor();

      await page.keyboard.type("audi");
      await page.getByRole("option", { name: "Audit" }).and(page.locator("[data-highlighted]")).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
    });

    test("? lists the shortcuts, Esc closes the list, and g with a letter opens a page", async () => {
      const page = await suite.open(`${suite.desk.agentPath}/runs`);

      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await Promise.all(["g", "t"].map((key) => page.keyboard.press(key)));

      await page.getByRole("heading", { level: 1, name: "Threads" }).waitFor();
    });

    test("j and k move through a list, Enter opens a row, and Esc closes the panel of the selected span", async () => {
      const page = await suite.open(`${suite.desk.agentPath}/runs`);
      const rows = await page.locator("[data-row-link]").allInnerTexts();

      await page.keyboard.press("j");
      await page.keyboard.press("j");
      await expect.poll(() => focused(page)).toBe(rows[1]);
      await page.keyboard.press("k");
      await expect.poll(() => focused(page)).toBe(rows[0]);
      await page.keyboard.press("Enter");

      const waterfall = page.getByRole("treegrid", { name: "Waterfall" });
      await waterfall.waitFor();
      expect(new URL(page.url()).searchParams.get("span")).toBeNull();
      await waterfall.locator("[role=row][tabindex='0']").focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.waitForURL(/[?&]span=/);
      await page.keyboard.press("Escape");
      await page.waitForURL((url) => !url.searchParams.has("span"));
    });

    test("the first Tab focuses the link to the content", async () => {
      const page = await suite.open("/console/agents");

      await page.keyboard.press("Tab");
      await expect.poll(() => focused(page)).toBe("Skip to content");
      await page.keyboard.press("Enter");

      await expect.poll(() => page.evaluate<string>("document.activeElement.id")).toBe("main");
    });

    test("a dialog traps the focus and returns it", async () => {
      const page = await suite.open("/console/agents");
      const button = page.getByRole("button", { name: "New agent" });

      await button.focus();
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog", { name: "New agent" });
      await dialog.getByLabel("Name", { exact: true }).waitFor();
      for (let press = 0; press < 8; press++) await page.keyboard.press("Tab");
      await expect.poll(() => dialog.locator(":focus").count()).toBe(1);
      await page.keyboard.press("Escape");

      await dialog.waitFor({ state: "detached" });
      await expect.poll(() => focused(page)).toBe("New agent");
    });

    test("nothing is animated with reduced motion", async () => {
      const running = "document.getAnimations().filter(({ playState }) => playState === 'running').length";
      const reduced = await suite.open(`${suite.desk.agentPath}/runtimes`, { reducedMotion: "reduce" });
      const animated = await suite.open(`${suite.desk.agentPath}/runtimes`, { reducedMotion: "no-preference" });

      await expect.poll(() => animated.evaluate<number>(running)).toBeGreaterThan(0);
      await reduced.keyboard.press("Control+k");
      await reduced.getByRole("dialog", { name: "Search" }).waitFor();
      await expect.poll(() => reduced.evaluate<number>(running)).toBe(0);
    });

    test.each(["runs", "playground", "access", "analytics", "functions/get_order_details"])(
      "the page %s works at 200 % zoom",
      async (name) => {
        // A window of 1280 × 800 pixels at 200 %.
        const page = await suite.open(`${suite.desk.agentPath}/${name}`, {
          viewport: { width: 640, height: 400 },
          deviceScaleFactor: 2,
        });

        expect(await sidewaysScroll(page)).toBe(0);
        await page.getByRole("button", { name: "Pages" }).click();
        await page.getByRole("dialog", { name: "Pages" }).getByRole("link", { name: "Keys" }).click();
        await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
      },
    );
  },
);
