import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, visit, type VisitOptions } from "../support/browser.ts";
import { askAround, startDeskConsole, type DeskConsole } from "./support/desk-console.ts";
import { settled, sidewaysScroll } from "./support/page-checks.ts";

describe.skipIf(!hasBrowser)("the console without a pointer, without motion, and enlarged", { timeout: 60_000 }, () => {
  let desk: DeskConsole;
  let signedIn: NonNullable<VisitOptions["storageState"]>;
  beforeAll(async () => {
    desk = await startDeskConsole();
    await askAround(desk);
    signedIn = await desk.signedInState();
  }, 60_000);
  afterAll(() => desk[Symbol.asyncDispose]());

  async function open(path: string, options: VisitOptions = {}): Promise<Page> {
    const { page } = await visit(desk.url, { storageState: signedIn, ...options });
    await page.goto(path);
    await settled(page);
    return page;
  }

  /** What the focus is on, as it reads. */
  const focused = (page: Page) => page.evaluate<string>("document.activeElement?.innerText ?? ''");

  test("Ctrl-K finds a page by its name and goes there", async () => {
    const page = await open("/console/agents");

    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Find" }).waitFor();
    await page.keyboard.type("audi");
    await page.getByRole("option", { name: /Audit/, selected: true }).waitFor();
    await page.keyboard.press("Enter");

    await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  test("? lists the keys, Esc closes the list, and g with a letter goes to a page", async () => {
    const page = await open(`${desk.agentPath}/runs`);

    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("g");
    await page.keyboard.press("t");

    await page.getByRole("heading", { level: 1, name: "Threads" }).waitFor();
  });

  test("j and k go through a list, Enter opens, and Esc closes the panel of what was chosen", async () => {
    const page = await open(`${desk.agentPath}/runs`);
    const rows = await page.locator("[data-row-link]").allInnerTexts();

    await page.keyboard.press("j");
    await page.keyboard.press("j");
    expect(await focused(page)).toBe(rows[1]);
    await page.keyboard.press("k");
    expect(await focused(page)).toBe(rows[0]);
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

  test("the first Tab offers to skip to the content", async () => {
    const page = await open("/console/agents");

    await page.keyboard.press("Tab");
    expect(await focused(page)).toBe("Skip to content");
    await page.keyboard.press("Enter");

    expect(await page.evaluate<string>("document.activeElement.id")).toBe("main");
  });

  test("a dialog keeps the focus, and gives it back", async () => {
    const page = await open("/console/agents");
    const button = page.getByRole("button", { name: "New agent" });

    await button.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "New agent" });
    await dialog.getByLabel("Name", { exact: true }).waitFor();
    for (let press = 0; press < 8; press++) await page.keyboard.press("Tab");
    expect(await dialog.locator(":focus").count()).toBe(1);
    await page.keyboard.press("Escape");

    await dialog.waitFor({ state: "detached" });
    expect(await focused(page)).toBe("New agent");
  });

  test("nothing moves for those who asked for less motion", async () => {
    const moving = "document.getAnimations().filter(({ playState }) => playState === 'running').length";
    const still = await open(`${desk.agentPath}/runtimes`, { reducedMotion: "reduce" });
    const lively = await open(`${desk.agentPath}/runtimes`, { reducedMotion: "no-preference" });

    await lively.waitForFunction(`${moving} > 0`);
    await still.keyboard.press("Control+k");
    await still.getByRole("dialog", { name: "Find" }).waitFor();
    await still.waitForFunction(`${moving} === 0`);
  });

  test.each(["runs", "playground", "access", "analytics", "functions/get_order_details"])(
    "the page %s holds at 200 % zoom",
    async (name) => {
      // A window of 1280 by 800 pixels, enlarged.
      const page = await open(`${desk.agentPath}/${name}`, {
        viewport: { width: 640, height: 400 },
        deviceScaleFactor: 2,
      });

      expect(await sidewaysScroll(page)).toBe(0);
      await page.getByRole("button", { name: "Pages" }).click();
      await page.getByRole("dialog", { name: "Pages" }).getByRole("link", { name: "Keys" }).click();
      await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
    },
  );
});
