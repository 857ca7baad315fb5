import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeConsole, type DeskConsole } from "./support/desk-console.ts";
import { settled } from "./support/page-checks.ts";

/** More runs than the overview lists, so that its list does not grow. */
async function prepare(desk: DeskConsole): Promise<void> {
  for (let i = 1; i <= 12; i++) await desk.query(`Question ${i}: which product types are there?`, { role: "agent" });
}

describeConsole("a live update", { prepare }, (suite) => {
  /** Collects what moves, except rows of lists: a new row moves those below it. */
  const observe = (page: Page) =>
    page.evaluate(`window.moved = [];
      new PerformanceObserver((list) => {
        for (const { sources } of list.getEntries())
          for (const { node, previousRect: before, currentRect: after } of sources) {
            const element = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node;
            if (!element || element.closest("tr, li")) continue;
            const [down, higher] = [after.top - before.top, after.height - before.height];
            if (Math.abs(down) > 1 || Math.abs(higher) > 1)
              window.moved.push(element.nodeName + " " + element.textContent.slice(0, 40) + ": " + down + " px");
          }
      }).observe({ type: "layout-shift" })`);

  test.each(["", "/runs", "/threads"])("moves nothing but rows on the page %j of an agent", async (route) => {
    const page = await suite.open(`${suite.desk.agentPath}${route}`, { viewport: { width: 1440, height: 900 } });
    await settled(page);
    await observe(page);
    await suite.desk.query(`News of ${route}: which product types are there?`, { role: "agent" });

    await page.locator("main").getByText(`News of ${route}`).first().waitFor();
    // Shifts are reported with the frame after them.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    expect(await page.evaluate("window.moved")).toEqual([]);
  });
});
