import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { fillWithRuns } from "../../packages/console-api/test/many-runs.ts";
import { openStore } from "@patchbay/store/open";
import { describeConsole, type DeskConsole } from "./support/desk-console.ts";
import { endedRun, rowTexts } from "./support/runs.ts";

const WIDE = { viewport: { width: 1440, height: 900 } };

const folder = mkdtempSync(join(tmpdir(), "patchbay-runs-"));
const database = `sqlite:${join(folder, "patchbay.db")}`;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function fill({ orgId, agentId }: DeskConsole): Promise<void> {
  await fillWithRuns(database, { orgId, agentId, runs: 10_080 });
  // The service looks for ended runs once in a while only.
  const store = await openStore(database);
  await store.index.catchUp();
  await store.index.record();
  await store.close();
}

/** The number of stored runs for which this holds. */
function storedRuns(condition: string): number {
  const stored = new DatabaseSync(join(folder, "patchbay.db"), { readOnly: true });
  try {
    return Number(stored.prepare(`select count(*) as runs from runs where ${condition}`).get()!["runs"]);
  } finally {
    stored.close();
  }
}

describeConsole("ten thousand runs", { prepare: fill, database }, (suite) => {
  test("are filtered by duration, cost, key and error code, chosen from the menu", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/runs?range=90d`, WIDE);
    const sums = page.getByRole("group", { name: "All matching runs" });
    const costs = "(select sum(cost_micros) from usage where usage.run_id = runs.id)";
    for (const [label, option, parameter, condition] of [
      ["Duration", "at least 5.00 s", "minDurationMs", "finished_at - created_at >= 5000"],
      ["Cost", "at least $0.01", "minCostUsd", `${costs} >= 10000`],
      ["Key", "key_2", "keyId", "key_id = 'key_2'"],
      ["Error code", "provider_error", "code", "json_extract(result, '$.code') = 'provider_error'"],
    ] as const) {
      const expected = storedRuns(condition);
      expect(expected, label).toBeGreaterThan(0);
      expect(expected, label).toBeLessThan(10_080);

      await page.getByRole("button", { name: "Filter", exact: true }).click();
      await page.getByRole("menuitem", { name: label, exact: true }).click();
      const field = page.getByRole("search").getByRole("combobox", { name: label, exact: true });
      if (parameter === "code") {
        await field.fill(option);
        await field.press("Tab"); // closes the suggestions
      } else {
        await page.getByRole("option", { name: option, exact: true }).click();
      }
      await sums.getByText(`${expected.toLocaleString("en-US")} run${expected === 1 ? "" : "s"}`).waitFor();
      expect(new URL(page.url()).searchParams.has(parameter)).toBe(true);
      await page.getByRole("button", { name: "Clear filter" }).click();
      await sums.getByText("10,080 runs").waitFor();
    }
  });

  test("are sorted, added up and searched", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/runs?range=90d`, WIDE);
    await page.getByRole("group", { name: "All matching runs" }).getByText("10,080 runs").waitFor();
    const first = () => page.evaluate<string>(`${rowTexts}[0]`);
    const newest = await first();
    await page.getByRole("columnheader", { name: "Cost" }).getByRole("button").click();
    // The rows of the earlier order stay until those of the new one are loaded.
    await expect.poll(first).not.toBe(newest);
    await page.getByRole("button", { name: "Load more" }).click();
    await expect.poll(() => page.evaluate<number>(`${rowTexts}.length`)).toBe(100);

    await page.getByRole("searchbox", { name: "Search text or ID" }).fill("No. 7: show");
    await page.getByText("No. 7: show").first().waitFor();
  });

  test("have analytics whose small charts leave gaps where no query ended", async () => {
    // One run begins each 4 minutes, and an interval has one minute.
    const page = await suite.open(`${suite.desk.agentPath}/analytics?range=1h`, WIDE);
    const latency = page.locator("dl > div").filter({ hasText: "Latency, p95" });
    const line = latency.locator("path.recharts-area-curve");
    await line.waitFor();

    expect((await line.getAttribute("d"))?.match(/M/g)?.length).toBeGreaterThan(2);
  });

  test("have a ledger that counts turns from 1, as the waterfall of a run", async () => {
    const page = await suite.open("/console/credits", WIDE);
    await page.getByText("turn 1", { exact: true }).first().waitFor();
    expect(await page.getByText("turn 0", { exact: true }).count()).toBe(0);
  });

  test("a new run fetches one page, keeps the loaded ones, and does not move what the member reads", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/runs?range=90d`, WIDE);
    await page.getByRole("button", { name: "Load more" }).click();
    await expect.poll(() => page.evaluate<number>(`${rowTexts}.length`)).toBe(100);
    const row = page.locator("tbody tr").nth(70);
    const key = await row.getAttribute("data-row");
    const read = page.locator(`[data-row="${key}"]`);
    await read.scrollIntoViewIfNeeded();
    const top = async () => Math.round((await read.boundingBox())!.y);
    const before = await top();
    // The start of the range moves every ten minutes.
    await page.clock.setFixedTime(Date.now() + 600_000);
    const asked: string[] = [];
    page.on("request", (request) => void (/\/runs\?/.test(request.url()) && asked.push(request.url())));

    await endedRun(suite.desk, "Just now", 1_000);

    const news = page.getByRole("button", { name: "Show 1 new run" });
    await news.waitFor();
    expect(await top()).toBe(before);
    expect(asked.filter((url) => url.includes("cursor="))).toEqual([]);
    await news.click();
    await expect.poll(() => page.evaluate<string[]>(`${rowTexts}.slice(0, 1)`)).toEqual(["Just now"]);
    expect(await page.evaluate<number>(`${rowTexts}.length`)).toBe(101);
    expect(await page.evaluate("document.activeElement.getBoundingClientRect().top")).toBeGreaterThan(48);
  });

  test("a selected run stays selected when a new run displaces it from the page", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/runs?range=90d`, WIDE);
    await page.getByRole("checkbox", { name: "Select the row" }).last().check();
    const selected = page.getByRole("group", { name: "Selected runs" });
    await selected.waitFor();

    await endedRun(suite.desk, "Displaces one", 1_000);

    await page.getByRole("button", { name: "Show 1 new run" }).waitFor();
    expect(await selected.count()).toBe(1);
  });
});
