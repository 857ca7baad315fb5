import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { pendingOrder } from "../support/retail.ts";
import { describeConsole, type DeskConsole } from "./support/desk-console.ts";

let runId: string;
async function prepare(desk: DeskConsole): Promise<void> {
  ({ runId } = await desk.query(`What is the status of order ${pendingOrder.orderId}?`, { role: "agent" }));
}

const LAPTOP = { viewport: { width: 1280, height: 800 } };

describeConsole("narrow places of pages", { prepare }, (suite) => {
  test("raw events leave space for their text in the panel of a span", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/runs/${runId}`, LAPTOP);
    await page.getByRole("treegrid", { name: "Waterfall" }).getByRole("row").nth(1).click();
    await page.getByRole("tab", { name: "Raw events" }).click();
    await page.locator("summary").first().waitFor();

    const widths = await page.evaluate<number[]>(
      "[...document.querySelectorAll('summary')].map((one) => Math.max(...[...one.querySelectorAll('.truncate.font-mono')].map((text) => text.getBoundingClientRect().width)))",
    );
    expect(widths.length).toBeGreaterThan(0);
    expect(Math.min(...widths)).toBeGreaterThan(150);
  });

  test("no copy button covers the first line of a code block", async () => {
    for (const width of [390, 1280]) {
      const page = await suite.open(`${suite.desk.agentPath}/runs/${runId}`, { viewport: { width, height: 800 } });
      expect(await covered(page), `at ${width}`).toEqual([]);
      const start = await suite.open(`${suite.desk.agentPath}/playground?tab=code`, {
        viewport: { width, height: 800 },
      });
      await start.locator("pre").first().waitFor();
      expect(await covered(start), `at ${width}`).toEqual([]);
    }
  });

  test("a function that was not called in the range is not called never called", async () => {
    const page = await suite.open(
      `${suite.desk.agentPath}/functions?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z`,
      { viewport: { width: 1600, height: 900 } },
    );
    await page.getByText("none in range").first().waitFor();
    expect(await page.getByText("never", { exact: true }).count()).toBe(0);
  });
});

/** The first lines of code blocks that a button of the block lies on. */
const covered = (page: Page) =>
  page.evaluate<string[]>(`[...document.querySelectorAll("pre")].flatMap((block) => {
    const range = document.createRange();
    range.selectNodeContents(block);
    const [line] = range.getClientRects();
    const buttons = [...(block.parentElement?.querySelectorAll("button") ?? [])].map((button) => button.getBoundingClientRect());
    if (!line) return [];
    const seen = Math.min(line.right, block.getBoundingClientRect().right);
    const hit = buttons.some((button) => button.left < seen && button.right > line.left && button.top < line.bottom && button.bottom > line.top);
    return hit ? [block.textContent.slice(0, 40)] : [];
  })`);
