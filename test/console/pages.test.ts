import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, PICTURES, visit, type VisitOptions } from "../support/browser.ts";
import { askAround, startDeskConsole, type DeskConsole } from "./support/desk-console.ts";
import { expectAccessible, settled, sidewaysScroll } from "./support/page-checks.ts";

const router = readFileSync(new URL("../../packages/console/src/router.tsx", import.meta.url), "utf8");

/** Every page: the route it has in the router, and where it is found. */
const PAGES = {
  "sign-in": "/sign-in",
  link: "/link",
  agents: "/agents",
  overview: "/agents/$agentId/",
  "agent-analytics": "/agents/$agentId/analytics",
  playground: "/agents/$agentId/playground",
  runs: "/agents/$agentId/runs",
  run: "/agents/$agentId/runs/$runId",
  threads: "/agents/$agentId/threads",
  thread: "/agents/$agentId/threads/$threadId",
  sessions: "/agents/$agentId/sessions",
  functions: "/agents/$agentId/functions",
  function: "/agents/$agentId/functions/$functionName",
  access: "/agents/$agentId/access",
  keys: "/agents/$agentId/keys",
  runtimes: "/agents/$agentId/runtimes",
  "agent-settings": "/agents/$agentId/settings",
  analytics: "/analytics",
  audit: "/audit",
  credits: "/credits",
  members: "/members",
  settings: "/settings",
  account: "/account",
};

/** Routes of the router that show a page: what is below an agent's route begins with that route. */
function routesOfRouter(): string[] {
  const routes = [...router.matchAll(/getParentRoute: \(\) => (\w+),\s+path: "([^"]+)",([^]*?)\n\}\);/g)];
  return routes
    .filter(([, , , rest = ""]) => rest.includes("component:"))
    .map(([, parent, path = ""]) => (parent === "agent" ? `/agents/$agentId${path}` : path));
}

test("every page of the router is looked at here", () => {
  expect(routesOfRouter().toSorted()).toEqual(Object.values(PAGES).toSorted());
});

describe.skipIf(!hasBrowser)("a page that shows data", { timeout: 90_000 }, () => {
  let desk: DeskConsole;
  let signedIn: NonNullable<VisitOptions["storageState"]>;
  let ids: Record<string, string>;

  beforeAll(async () => {
    desk = await startDeskConsole();
    const { answered, denied } = await askAround(desk);
    ids = {
      agentId: desk.agentId,
      runId: denied.runId ?? "",
      threadId: answered.threadId,
      functionName: "get_order_details",
    };
    signedIn = await desk.signedInState();
  }, 60_000);
  afterAll(() => desk[Symbol.asyncDispose]());

  const urlOf = (route: string) => `/console${route.replaceAll(/\$(\w+)/g, (_, name: string) => ids[name] ?? "")}`;

  async function open(route: string, options: VisitOptions = {}): Promise<Page> {
    const anonymous = route === PAGES["sign-in"] || route === PAGES.link;
    const { page } = await visit(desk.url, {
      ...(!anonymous && { storageState: signedIn }),
      reducedMotion: "reduce",
      ...options,
    });
    await page.goto(urlOf(route));
    await settled(page);
    return page;
  }

  test.each(Object.entries(PAGES))(
    "%s has a name and is accessible, in both themes and on any screen",
    async (name, route) => {
      const page = await open(route, { viewport: { width: 1440, height: 900 } });
      const picture = (theme: string, width: number) =>
        page.screenshot({ path: `${PICTURES}${name}-${theme}-${width}.png`, fullPage: true });

      expect(await page.getByRole("heading", { level: 1 }).count()).toBe(1);
      expect(await page.title()).toMatch(/^\S.* · Patchbay$/);

      await picture("light", 1440);
      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: "dark" });
      await picture("dark", 1440);
      await page.setViewportSize({ width: 390, height: 844 });
      await settled(page);
      await picture("dark", 390);
      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: "light" });
      await picture("light", 390);

      await page.setViewportSize({ width: 360, height: 740 });
      await settled(page);
      expect(await sidewaysScroll(page), "sideways scrolling at 360 px").toBe(0);
    },
  );

  /** What opens over a page, or only when something was done: where, and how. */
  const OPENED: Record<string, { route: string; dialog?: string; by?: (page: Page) => Promise<void> }> = {
    "new-agent": { route: "/agents?create=1", dialog: "New agent" },
    "new-key": { route: "/agents/$agentId/keys?create=api", dialog: "New API key" },
    "new-member": { route: "/members?create=1", dialog: "Invite a member" },
    "one-key": { route: "/agents/$agentId/keys", by: (page) => page.locator("[data-row-link]").first().click() },
    "audit-entry": { route: "/audit", by: (page) => page.locator("[data-row-link]").first().click() },
    "one-span": {
      route: "/agents/$agentId/runs/$runId",
      by: (page) => page.getByRole("row", { name: /get_order_details/ }).click(),
    },
    "matrix-cell": {
      route: "/agents/$agentId/access",
      dialog: "get_order_details",
      by: (page) => page.getByRole("button", { name: /^get_order_details, customer/ }).click(),
    },
    palette: { route: "/audit", dialog: "Find", by: (page) => page.keyboard.press("Control+k") },
    answer: { route: "/agents/$agentId/playground?thread=$threadId&tab=events" },
  };

  test.each(Object.entries(OPENED))("%s is accessible, and fits any screen", async (name, { route, dialog, by }) => {
    const page = await open(route, { viewport: { width: 1440, height: 900 }, colorScheme: "dark" });
    await by?.(page);
    if (dialog !== undefined) await page.getByRole("dialog", { name: dialog }).waitFor();
    await settled(page);

    await page.screenshot({ path: `${PICTURES}${name}-dark-1440.png` });
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 360, height: 740 });
    await settled(page);
    await page.screenshot({ path: `${PICTURES}${name}-light-360.png` });
    await expectAccessible(page);
    expect(await sidewaysScroll(page), "sideways scrolling at 360 px").toBe(0);
  });
});
