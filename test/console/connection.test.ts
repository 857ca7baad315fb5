import { expect, test } from "vitest";
import { visit } from "../support/browser.ts";
import { type ChaosProxy, startChaosProxy } from "@patchbay/test-support/chaos-proxy";
import { askAround, describeConsole, type DeskConsole } from "./support/desk-console.ts";

let runId: string;

async function prepare(desk: DeskConsole): Promise<void> {
  const { answered } = await askAround(desk);
  runId = answered.runId ?? "";
}

describeConsole("a console that loses its connection", { prepare }, (suite) => {
  /** A signed-in page whose connections pass through `proxy`. */
  async function openThrough(proxy: ChaosProxy) {
    const { desk } = suite;
    const { page } = await visit(`http://127.0.0.1:${proxy.port}`, {
      // The router logs the error of a page that failed to load.
      expects: [/^console: ApiError: The control plane cannot be reached/],
    });
    await page.goto((await desk.admin.members.signInLink(desk.orgId)).path);
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
    return page;
  }

  const disconnect = (proxy: ChaosProxy): void => {
    proxy.refusing = true;
    proxy.cut();
  };

  test("a list says since when it is out of date, and updates when the service is back", async () => {
    await using proxy = await startChaosProxy(Number(new URL(suite.desk.url).port));
    const page = await openThrough(proxy);
    await page.goto(`${suite.desk.agentPath}/runs`);
    await page.getByRole("link", { name: /Which product types are there/ }).waitFor();

    disconnect(proxy);
    const bar = page.getByRole("status", { name: "Connection" });
    await bar.getByText(/^Reconnecting… Data as of \d\d:\d\d:\d\d$/).waitFor();
    await suite.desk.query("What is 6 * 7?", { role: "agent" });
    proxy.refusing = false;

    await page.getByRole("button", { name: /^Show \d new runs?$/ }).click();
    await page.getByRole("link", { name: /What is 6 \* 7/ }).waitFor();
    await expect.poll(() => bar.innerText()).toBe("");
  });

  test("a page that failed to load loads when the service is back", async () => {
    await using proxy = await startChaosProxy(Number(new URL(suite.desk.url).port));
    const page = await openThrough(proxy);
    await page.goto(`${suite.desk.agentPath}/runs`);
    const link = page.locator(`[data-row-link][href$="${runId}"]`);
    await link.waitFor();

    disconnect(proxy);
    await link.click();
    await page.getByText("The control plane cannot be reached.").waitFor();
    proxy.refusing = false;

    await page.getByRole("treegrid", { name: "Waterfall" }).waitFor();
  });

  test("a page without its agent has one heading, and says that it retries", async () => {
    await using proxy = await startChaosProxy(Number(new URL(suite.desk.url).port));
    const page = await openThrough(proxy);
    const { pathname } = new URL(suite.desk.agentPath, suite.desk.url);
    await page.route(`**/api/agents/${suite.desk.agentId}`, (route) => route.abort());

    await page.goto(`${pathname}/runs`);
    await page.getByRole("heading", { level: 1, name: "Couldn't load this page" }).waitFor();
    await page.getByRole("alert").getByText("Retrying…").waitFor();
    expect(await page.getByText("Could not load this").count()).toBe(0);
    await page.unrouteAll();

    await page.getByRole("link", { name: /Which product types are there/ }).waitFor();
  });

  test("a page is reloaded when the browser is online again", async () => {
    await using proxy = await startChaosProxy(Number(new URL(suite.desk.url).port));
    const page = await openThrough(proxy);
    await page.goto(`${suite.desk.agentPath}/runs`);
    await page.getByRole("link", { name: /Which product types are there/ }).waitFor();

    await page.context().setOffline(true);
    await page.getByText(/^Reconnecting…/).waitFor();
    await suite.desk.query("What is 8 * 7?", { role: "agent" });
    await page.context().setOffline(false);

    await page.getByRole("button", { name: /^Show \d new runs?$/ }).click();
    await page.getByRole("link", { name: /What is 8 \* 7/ }).waitFor();
  });
});
