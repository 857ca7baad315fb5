import type { Locator, Page } from "playwright-core";

/** What the service of the double-click tests has. */
export interface Stage {
  /** Path of the agent's pages. */
  agent: string;
  /** Path of an agent that no runtime has connected to. */
  empty: string;
  /** A run that has ended, with feedback of the member. */
  runId: string;
  /** A run that waits for an approval. */
  waitingId: string;
  threadId: string;
  /** Path of a link with which an invited member joins. */
  invitation: string;
}

/** A change that a member makes, and how to reach the button that begins it. */
export interface Deed {
  /** The file of the action, in `packages/console/src`. */
  at: string;
  name: string;
  open: (stage: Stage) => string;
  button: (page: Page) => Locator | Promise<Locator>;
  /** The request; by default, each that is not a GET. */
  request?: RegExp;
  /** True for a page of members who are not signed in. */
  signedOut?: true;
  /** Another use of an action that is in the list already. */
  twin?: true;
}

/** The button of this name. */
export const named = (page: Page | Locator, name: string | RegExp) => page.getByRole("button", { name, exact: true });
/** The button of the dialog on top. */
export const inDialog = (page: Page, name: string) =>
  page.getByRole("dialog").last().getByRole("button", { name, exact: true });

/** Chooses an item of the menu of a button. */
export async function chosen(page: Page, menu: string | RegExp, item: string): Promise<void> {
  await page.getByRole("button", { name: menu }).first().click();
  await page.getByRole("menuitem", { name: item }).click();
}

/** Opens the panel of the first row, or of the first one with this text. */
export async function opened(page: Page, hasText?: string): Promise<void> {
  const within = hasText === undefined ? page : page.getByRole("row").filter({ hasText });
  await within.locator("[data-row-link]").first().click();
  await page.getByRole("dialog").waitFor();
}
