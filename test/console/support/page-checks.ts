import { AxeBuilder } from "@axe-core/playwright";
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

const WCAG_22_AA = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Waits until a page has a heading and no loading indicator. */
export async function settled(page: Page): Promise<void> {
  await page.locator("h1").waitFor();
  await page.waitForFunction(() => {
    const { document } = globalThis as unknown as { document: { querySelector(selector: string): unknown } };
    return document.querySelector("[aria-busy=true], .animate-shimmer") === null;
  });
}

/**
 * Opens a select and chooses an option. The keyboard chooses it: while Playwright scrolls an option near the edge of the window
 * into view, the list moves to the other side of its select, and a click can land between them.
 */
export async function choose(select: Locator, option: string): Promise<void> {
  await select.click();
  await select.page().getByRole("option", { name: option, exact: true }).press("Enter");
}

const TRANSITIONS = `document.getAnimations().filter(
  ({ playState, effect }) => playState === "running" && effect.getComputedTiming().iterations < Infinity,
).length`;

/** Fails with each violated accessibility rule and its elements. */
export async function expectAccessible(page: Page): Promise<void> {
  // axe reads colours and opacities in the middle of a transition as they are.
  await expect.poll(() => page.evaluate<number>(TRANSITIONS), { message: "transitions in progress" }).toBe(0);
  // Legacy mode: the other mode opens a second page to merge results of frames, and the pages have no frames.
  const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ["violations"] });
  const { violations } = await axe.withTags(WCAG_22_AA).analyze();
  const broken = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, any, all, none }) => {
      const why = [...any, ...all, ...none].map(({ message }) => message).join("; ");
      return `${id}: ${help}\n  ${html.slice(0, 200)}\n  ${why}`;
    }),
  );
  expect(broken, "violations found by axe").toEqual([]);
}

const SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

/**
 * How far a page scrolls horizontally, in pixels. Scrollable elements within it do not count. Charts have the width that was
 * measured last, until they are drawn again: a page that scrolls has 5 s to stop.
 */
export async function sidewaysScroll(page: Page): Promise<number> {
  await page.waitForFunction(`${SIDEWAYS} === 0`, undefined, { timeout: 5_000 }).catch(() => {});
  return page.evaluate<number>(SIDEWAYS);
}
