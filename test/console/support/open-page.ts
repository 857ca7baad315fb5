import type { Page } from "playwright-core";
import { visit, type VisitOptions } from "../../support/browser.ts";
import { askAround, type ConsoleSuite, type DeskConsole } from "./desk-console.ts";
import { settled } from "./page-checks.ts";
import { PAGES } from "@patchbay/test-support/console-pages";

/** Values of the parameters in the routes. */
let ids: Record<string, string>;

/** Data for every page. */
export async function fillPages(desk: DeskConsole): Promise<void> {
  const { answered, denied } = await askAround(desk);
  const { agentId: emptyAgentId } = await desk.admin.createAgent("Empty", { orgId: desk.orgId });
  ids = {
    agentId: desk.agentId,
    emptyAgentId,
    runId: denied.runId ?? "",
    threadId: answered.threadId,
    functionName: "get_order_details",
  };
}

const urlOf = (route: string) => `/console${route.replaceAll(/\$(\w+)/g, (_, name: string) => ids[name] ?? "")}`;

/** Opens a route of `PAGES` with the ids of `fillPages`. */
export async function openPage(suite: ConsoleSuite, route: string, options: VisitOptions = {}): Promise<Page> {
  const anonymous = route === PAGES["sign-in"] || route === PAGES.link;
  const visitOptions: VisitOptions = { reducedMotion: "reduce", ...options };
  const { page } = await (anonymous ? visit(suite.desk.url, visitOptions) : suite.visit(visitOptions));
  await page.goto(urlOf(route));
  await settled(page);
  return page;
}
