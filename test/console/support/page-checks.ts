import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const WCAG_22_AA = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Waits until a page shows what it is there for: nothing in it is being fetched any more. */
export async function settled(page: Page): Promise<void> {
  await page.locator("h1").waitFor();
  await page.waitForFunction(() => {
    const { document } = globalThis as unknown as { document: { querySelector(selector: string): unknown } };
    return document.querySelector("[aria-busy=true], .animate-shimmer") === null;
  });
}

/** Fails with each rule that is broken and the elements that break it. */
export async function expectAccessible(page: Page): Promise<void> {
  // Pages have no frames to gather from, for which it would open a page of its own.
  const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ["violations"] });
  const { violations } = await axe.withTags(WCAG_22_AA).analyze();
  const broken = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, any, all, none }) => {
      const why = [...any, ...all, ...none].map(({ message }) => message).join("; ");
      return `${id}: ${help}\n  ${html.slice(0, 200)}\n  ${why}`;
    }),
  );
  expect(broken, "what axe found").toEqual([]);
}

/** How far a page can be scrolled to the side, in pixels. Boxes in it that scroll of themselves do not count. */
export function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}
