import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeConsole, type DeskConsole } from "./support/desk-console.ts";
import { expectAccessible, settled, sidewaysScroll } from "./support/page-checks.ts";
import { rowTexts } from "./support/runs.ts";

/** More runs than the overview lists. */
async function prepare(desk: DeskConsole): Promise<void> {
  for (let i = 1; i <= 12; i++) await ask(desk, `Question ${i}`);
}

const ask = ({ query }: DeskConsole, name: string) =>
  query(`${name}: which product types are there?`, { role: "agent", sessionId: name });

const CASES = [
  { route: "", width: 1440, pointer: "elsewhere" },
  { route: "", width: 1440, pointer: "on the list" },
  { route: "/runs", width: 1440, pointer: "elsewhere" },
  { route: "/runs", width: 1440, pointer: "on the list" },
  { route: "/runs", width: 390, pointer: "on the list" },
  { route: "/threads", width: 1440, pointer: "on the list" },
  { route: "/sessions", width: 1440, pointer: "on the list" },
];

const BUTTON = "document.querySelector('main [role=status] button')";

/** The heads of columns, the label that selects all rows, and the sums, of those that the button of new rows covers. */
const COVERED = `(() => {
  const button = ${BUTTON}.getBoundingClientRect();
  const labels = [...document.querySelectorAll("main label")].filter((one) => one.textContent.includes("loaded"));
  return [...document.querySelectorAll("main thead th, main [role=group]"), ...labels]
    .filter((element) => {
      const { left, right, top, bottom, height } = element.getBoundingClientRect();
      return height > 1 && left < button.right && right > button.left && top < button.bottom && bottom > button.top;
    })
    .map((element) => element.textContent);
})()`;

const IS_ON_TOP = `(() => {
  const { left, top, width, height } = ${BUTTON}.getBoundingClientRect();
  return ${BUTTON}.contains(document.elementFromPoint(left + width / 2, top + height / 2));
})()`;

describeConsole("a live update", { prepare }, (suite) => {
  /** Collects what moves without an action of the member. */
  const observe = (page: Page) =>
    page.evaluate(`window.moved = [];
      window.shift = 0;
      new PerformanceObserver((list) => {
        for (const { hadRecentInput, sources, value } of list.getEntries()) {
          if (!hadRecentInput) window.shift += value;
          for (const { node, previousRect: before, currentRect: after } of hadRecentInput ? [] : sources) {
            const element = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node;
            const [down, higher] = [after.top - before.top, after.height - before.height];
            if (Math.abs(down) > 1 || Math.abs(higher) > 1)
              window.moved.push(element?.nodeName + " " + element?.textContent.slice(0, 40) + ": " + down + " px");
          }
        }
      }).observe({ type: "layout-shift" })`);

  /** What has moved. Shifts are reported with the frame after them. */
  const moved = (page: Page) =>
    page.evaluate<string[]>(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(window.moved))))",
    );

  const news = (page: Page) => page.locator("main").getByRole("button", { name: /^Show \d+ new / });

  test.each(CASES)(
    "moves nothing on the page '$route' of an agent at $width px, pointer $pointer, and offers new rows",
    async ({ route, width, pointer }) => {
      const page = await suite.open(`${suite.desk.agentPath}${route}`, { viewport: { width, height: 900 } });
      await settled(page);
      const before = await page.evaluate<string[]>(rowTexts);
      if (pointer === "on the list") await page.locator("[data-row-link]").first().hover();
      await observe(page);
      const name = `News of agent${route} at ${width}, ${pointer}`;
      await ask(suite.desk, name);

      await news(page).waitFor();
      expect(await moved(page)).toEqual([]);
      // Texts that grow sideways, such as a time, move their neighbours by less.
      expect(await page.evaluate("window.shift")).toBeLessThan(0.002);
      expect(await page.evaluate<string[]>(rowTexts)).toEqual(before);
      expect(await sidewaysScroll(page)).toBe(0);
      await expectAccessible(page);
      expect(await page.evaluate(COVERED)).toEqual([]);
      await page.setViewportSize({ width, height: 500 });
      await page.evaluate("document.querySelector('tbody tr:nth-child(6)').scrollIntoView({ block: 'start' })");
      expect(await page.evaluate(COVERED)).toEqual([]);
      expect(await page.evaluate(IS_ON_TOP)).toBe(true);
      await news(page).click();
      const first = async () => (await page.evaluate<string[]>(rowTexts))[0];
      await expect.poll(first).toContain(name);
      expect(await page.evaluate("document.activeElement?.matches('tbody tr:first-child [data-row-link]')")).toBe(true);
      expect(await news(page).count()).toBe(0);
    },
  );
});
