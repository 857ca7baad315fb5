import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { ending, sampleResult, sampleRun } from "../../packages/store/test/contract/world.ts";
import { deliveredOrder, pendingOrder } from "../support/retail.ts";
import { askAround, describeConsole, type DeskConsole } from "./support/desk-console.ts";
import { settled, sidewaysScroll } from "./support/page-checks.ts";

/** A run with a denied and a failed call, whose row needs the most space. */
async function prepare(desk: DeskConsole): Promise<void> {
  await askAround(desk);
  await desk.query(`What is the status of order ${deliveredOrder.orderId}? And calculate 1 / (2 - 2).`, {
    role: "customer",
    contextJson: JSON.stringify({ customerId: pendingOrder.ownerId }),
  });
}

describeConsole("lists", { prepare }, (suite) => {
  /** The narrowest text of a query in the list of runs, in pixels. Measures the space for it, not the text. */
  const spaceForQueries = (page: Page) =>
    page.evaluate<number>(
      `Math.min(...[...document.querySelectorAll("[data-row-link]")].map((link) => {
        const text = link.querySelector(".font-medium:not([data-hint] *)");
        return link.closest("td").getBoundingClientRect().right - text.getBoundingClientRect().left;
      }))`,
    );

  test("the list of runs leaves space for queries at every width of a laptop", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/runs`, { viewport: { width: 1024, height: 768 } });
    for (const width of [1024, 1100, 1200, 1279, 1280, 1366, 1440, 1536, 1920]) {
      await page.setViewportSize({ width, height: 768 });
      await settled(page);
      expect(await spaceForQueries(page), `pixels for a query at ${width}`).toBeGreaterThan(240);
      expect(await sidewaysScroll(page), `horizontal scrolling at ${width}`).toBe(0);
    }
  });

  test("a cancelled run shows as cancelled and not as failed, in the list of runs and in the audit log", async () => {
    const { orgId, agentId, agentPath, store } = suite.desk;
    const started = await store.runs.start(sampleRun({ orgId, agentId }));
    if (started.kind !== "started") throw new Error(started.kind);
    const { runId, keyId } = started.run;
    const { finish, ...rest } = ending(started.run);
    const result = {
      ...sampleResult(started.run, ""),
      success: false,
      errorMessage: "Cancelled.",
      code: "cancelled" as const,
    };
    await store.runs.commit(started.run, { ...rest, finish: { ...finish!, status: "cancelled", result } });
    await store.audit.record([{ action: "run.failed", rule: "cancelled", orgId, agentId, runId, keyId }]);

    const runs = await suite.open(`${agentPath}/runs`, { viewport: { width: 1600, height: 900 } });
    const row = runs.getByRole("row").filter({ has: runs.locator(`a[href*="${runId}"]`) });
    await row.waitFor();
    expect(await row.getByText("cancelled").count()).toBe(1);
    expect(await row.locator(".text-bad, .bg-bad-soft").count()).toBe(0);

    const audit = await suite.open(`/console/audit?runId=${runId}`);
    const entry = audit.getByRole("row").filter({ hasText: "was cancelled" });
    await entry.getByText("run.cancelled").waitFor();
    expect(await entry.locator(".text-bad, .bg-bad-soft").count()).toBe(0);
  });

  test("names of roles keep to one line in the roles of a function", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/functions/get_order_details?tab=roles`, {
      viewport: { width: 1280, height: 768 },
    });
    const cells = page.getByRole("table").locator("tbody td:first-child");
    await cells.first().waitFor();
    const lines = await page.evaluate<number[]>(
      "[...document.querySelectorAll('tbody td:first-child > span')].map(({ firstElementChild }) => firstElementChild.getClientRects().length)",
    );

    expect(lines.length).toBeGreaterThan(2);
    expect(lines.filter((count) => count > 1)).toEqual([]);
  });

  test("Back focuses the row that was opened, and j continues from it", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/runs`);
    const rows = await page.locator("[data-row-link]").allInnerTexts();
    const focused = () => page.evaluate<string>("document.activeElement?.innerText ?? ''");

    for (let press = 0; press < 3; press++) await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("treegrid", { name: "Waterfall" }).waitFor();
    await page.goBack();

    await expect.poll(focused).toBe(rows[2]);
    await page.keyboard.press("j");
    await expect.poll(focused).toBe(rows[3]);
  });

  test("runs without a role are found, and filters show their names", async () => {
    await suite.desk.query("What is 1 + 1?");
    const page = await suite.open(`${suite.desk.agentPath}/runs?noRole=1&status=succeeded`);

    await page.getByRole("link", { name: /What is 1 \+ 1/ }).waitFor();
    await expect.poll(() => page.locator("[data-row-link]").count()).toBe(1);
    const filters = page.getByRole("search");
    await expect.poll(() => filters.getByRole("combobox", { name: "Role" }).inputValue()).toBe("No role");
    expect(await filters.getByRole("combobox", { name: "Status" }).innerText()).toBe("Status: succeeded");
    expect(await filters.innerText()).toContain("Role:");
  });

  test("an unknown address keeps the navigation, and a missing run leads to the runs of its agent", async () => {
    const { page, expect: allow } = await suite.visit();
    allow(/^404 GET /);
    await page.goto("/console/nope");
    await page.getByRole("heading", { level: 1, name: "Not found" }).waitFor();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Audit" }).waitFor();

    for (const path of ["runs/run_none", "compare?a=run_none&b=run_0", "playground?again=run_none"]) {
      await page.goto(`${suite.desk.agentPath}/${path}`);
      await page.getByRole("link", { name: "All runs of this agent" }).waitFor();
      expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    }
    await page.getByRole("link", { name: "All runs of this agent" }).click();
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
  });

  test("the pages of an agent that was deleted lead to the other agents", async () => {
    const { admin, orgId } = suite.desk;
    const { agentId } = await admin.createAgent("Short-lived", { orgId });
    const { page, expect: allow } = await suite.visit();
    allow(/^404 GET |^console: ApiError: The agent was not found/);
    await page.goto(`/console/agents/${agentId}/runs`);
    await page.getByText("No runs yet").waitFor();

    await admin.deleteAgent(agentId);
    const onward = page.getByRole("link", { name: "All agents" });
    await onward.waitFor();
    await page.goto(`/console/agents/${agentId}/runs/run_none`);
    await onward.click();
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
  });
});
