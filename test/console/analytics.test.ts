import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { ending, failing, sampleResult, sampleRun, sampleTurn } from "../../packages/store/test/contract/world.ts";
import { PICTURES } from "../support/browser.ts";
import { askAround, type DeskConsole, describeConsole } from "./support/desk-console.ts";
import { expectAccessible, settled } from "./support/page-checks.ts";
import { edgesOf } from "./support/rows.ts";

const WIDE = { viewport: { width: 1440, height: 900 } };

let pricedPath: string;

/** An agent with a query that cost $3, whose model began to answer after 1.5 s and read a fifth from a cache, and a failed query. */
async function preparePriced({ admin, store, orgId }: DeskConsole): Promise<void> {
  const { agentId, keyId } = await admin.createAgent("Priced", { orgId });
  pricedPath = `/console/agents/${agentId}`;
  const runs = [0, 1].map(() => sampleRun({ orgId, agentId, keyId, leaseMs: 600_000 }));
  for (const run of runs) await store.runs.start(run);
  const [answered, failed] = runs.map(({ runId, threadId }) => ({ runId, threadId, fence: 1, lastSeq: 0 }));
  const timing = { beganAt: Date.now() - 2_000, retries: [], firstTokenMs: 1_500 };
  await store.runs.commit(answered!, { turn: sampleTurn(0, { costMicros: 3_000_000, timing }), ...ending(answered!) });
  const { finish, ...rest } = failing(failed!);
  const code = "provider_error" as const;
  const result = { ...sampleResult(failed!, ""), success: false, errorMessage: "The provider is not available.", code };
  await store.runs.commit(failed!, { ...rest, finish: { ...finish!, result } });
}

async function prepare(desk: DeskConsole): Promise<void> {
  const { store, orgId, agentId } = desk;
  await askAround(desk);
  await preparePriced(desk);
  // The query of a member, in the playground.
  const run = sampleRun({ orgId, agentId, keyId: "mem_1", leaseMs: 600_000 });
  await store.runs.start(run);
  await store.runs.commit({ ...run, fence: 1 }, { turn: sampleTurn(0), ...ending({ ...run, lastSeq: 0 }) });
  await store.index.record();
}

describeConsole("analytics", { prepare }, (suite) => {
  const path = () => `${suite.desk.agentPath}/analytics`;
  /** A range with intervals of two days, so that all queries of the suite are in the last one. */
  const inLastInterval = () => `${path()}?range=90d`;
  const readout = "Use the arrow keys to read the values";
  /** The figure of a tile. */
  const tile = (page: Page, label: string) =>
    page
      .locator("dl > div")
      .filter({ has: page.locator("dt", { hasText: new RegExp(`^${label}$`) }) })
      .locator("dd")
      .first();

  test.each(edgesOf([390, 768, 1280, 1440]))("tiles and charts fill their rows at %i px", async (width) => {
    const page = await suite.open(path(), { viewport: { width, height: 900 } });
    await settled(page);
    const ends = await page.evaluate<number[][]>(
      `[document.querySelector("main dl"), document.querySelector("main section").parentElement].map((grid) => {
        const boxes = [...grid.children].map((one) => one.getBoundingClientRect());
        const ends = boxes.filter(({ top }, at) => boxes[at + 1]?.top !== top).map(({ right }) => Math.round(right));
        return [...new Set(ends)];
      })`,
    );
    expect(ends.map(({ length }) => length)).toEqual([1, 1]);
  });

  test("has the figures of the overview that leads to it", async () => {
    const page = await suite.open(suite.desk.agentPath, WIDE);
    // The note below it compares with the range before, which another request loads.
    const figure = () => tile(page, "Queries").locator("span").first().innerText();
    const queries = await figure();
    await page.getByRole("link", { name: "Open analytics" }).click();
    await page.getByRole("heading", { level: 1, name: "Analytics" }).waitFor();
    await expect.poll(figure).toBe(queries);
  });

  test("counts the queries of clients, and those of the console only if their source is chosen", async () => {
    const page = await suite.open(path(), WIDE);
    await expect.poll(() => tile(page, "Queries").innerText()).toMatch(/^5\b/);
    expect(await page.getByRole("table", { name: "Sources" }).getByRole("row").count()).toBe(1 + 1);

    await page.getByRole("combobox", { name: "Source" }).click();
    await page.getByRole("option", { name: "All", exact: true }).click();
    await expect.poll(() => tile(page, "Queries").innerText()).toMatch(/^6\b/);
    await page.getByRole("combobox", { name: "Source" }).click();
    await page.getByRole("option", { name: "Playground" }).click();
    await expect.poll(() => tile(page, "Queries").innerText()).toMatch(/^1\b/);
  });

  test("the arrow keys read the values of each interval, and Enter opens its runs", async () => {
    const page = await suite.open(inLastInterval(), WIDE);
    const slider = page.getByRole("slider", { name: "Queries, by time" });
    expect(await slider.getAttribute("aria-valuetext")).toBe(readout);

    await slider.focus();
    await page.keyboard.press("ArrowLeft");
    expect(await slider.getAttribute("aria-valuetext")).toMatch(/Succeeded 5, Failed 0, Cancelled 0$/);
    const box = page.locator(".recharts-tooltip-wrapper").filter({ hasText: "Succeeded" });
    await expect.poll(() => box.isVisible()).toBe(true);
    await expect.poll(() => box.innerText()).toMatch(/Total\s+5/);
    await page.screenshot({ path: `${PICTURES}chart-readout.png` });
    await page.keyboard.press("Home");
    expect(await slider.getAttribute("aria-valuetext")).toMatch(/Succeeded 0/);
    await page.keyboard.press("Escape");
    expect(await slider.getAttribute("aria-valuetext")).toBe(readout);
    await expect.poll(() => box.count()).toBe(0);

    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
    await expect.poll(() => page.getByRole("table", { name: "Runs" }).getByRole("row").count()).toBe(1 + 5);
  });

  test("the pointer shows the values of the bar below it, and a click opens its runs", async () => {
    const page = await suite.open(inLastInterval(), WIDE);
    const slider = page.getByRole("slider", { name: "Queries, by time" });
    const bar = page
      .getByRole("img", { name: /^Queries:/ })
      .locator(".recharts-bar-rectangle path")
      .last();
    const [at, area] = [await bar.boundingBox(), await slider.boundingBox()];
    if (!at || !area) throw new Error("The chart has no bar.");

    await slider.hover({ position: { x: at.x + at.width / 2 - area.x, y: 20 } });
    await expect.poll(() => slider.getAttribute("aria-valuetext")).toMatch(/Succeeded 5/);
    await page.mouse.move(10, 10);
    await expect.poll(() => slider.getAttribute("aria-valuetext")).toBe(readout);

    await slider.click({ position: { x: at.x + at.width / 2 - area.x, y: 20 } });
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
  });

  test("a latency without neighbours is a dot, a legend entry hides its series, and a table has the values", async () => {
    const page = await suite.open(inLastInterval(), WIDE);
    const chart = page.getByRole("img", { name: /^Latency:/ });
    await expect.poll(() => chart.locator("circle").count()).toBe(3);

    const card = page.getByRole("region", { name: "Latency" });
    await card.getByRole("button", { name: /^p99/ }).click();
    await expect.poll(() => chart.locator("circle").count()).toBe(2);

    await card.getByRole("button", { name: "Show as table" }).click();
    const table = card.getByRole("table", { name: "Latency" });
    await table.waitFor();
    expect(await table.getByRole("columnheader").allInnerTexts()).toEqual(["Time", "p50", "p95", "p99"]);
    expect(await table.getByRole("cell", { name: /\d m?s$/ }).count()).toBe(3);
  });

  test("rows of roles, keys, sources and functions lead to their runs", async () => {
    const page = await suite.open(path(), WIDE);
    expect(
      await page
        .locator("main dl dt")
        .filter({ hasNot: page.locator("a") })
        .allInnerTexts(),
    ).toEqual([]);
    for (const [table, row, figures, runs] of [
      ["Roles", /^agent/, /^2\s+0\s/, 2],
      ["Keys", /key_/, /^5\s+0\s/, 5],
      ["Sources", /^API/, /^5\s+0\s/, 5],
      ["Most called functions", /^get_order_details/, /^2\s+0\s+1 \(50%\)/, 2],
    ] as const) {
      await page.goto(path());
      await settled(page);
      const line = page.getByRole("table", { name: table }).getByRole("row").filter({ hasText: row }).first();
      await expect
        .poll(async () => (await line.getByRole("cell").allInnerTexts()).slice(1).join(" "), { message: table })
        .toMatch(figures);

      await line.locator("[data-row-link]").click();
      await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
      const shown = page.getByRole("table", { name: "Runs" }).getByRole("row");
      await expect.poll(() => shown.count(), { message: table }).toBe(1 + runs);
    }
    await page.goto(path());
    await page.getByText("No failed queries").waitFor();
  });

  test("shows the time to the first token, the share from a cache and the cost per query, and error codes lead to their runs", async () => {
    const { page } = await suite.visit({ ...WIDE, expects: [/^404 GET \/api\/agents\/\w+\/functions$/] });
    await page.goto(`${pricedPath}/analytics`);
    await expect.poll(() => tile(page, "First token, p50").innerText()).toMatch(/^1\.50 s/);
    expect(await tile(page, "From cache").innerText()).toMatch(/^20%/);
    expect(await tile(page, "Cost per query").innerText()).toMatch(/^\$1\.50/);
    const models = page.getByRole("table", { name: "Models" }).getByRole("row").nth(1);
    expect((await models.getByRole("cell").allInnerTexts()).join(" ")).toMatch(/1 1\.50 s 100 20% 30% 10 \$3\.00$/);

    const codes = page.getByRole("table", { name: "Error codes" });
    await codes.getByText("provider_error").waitFor();
    await codes.locator("[data-row-link]").click();
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
    expect(new URL(page.url()).searchParams.get("code")).toBe("provider_error");
    await expect.poll(() => page.getByRole("table", { name: "Runs" }).getByRole("row").count()).toBe(1 + 1);
  });

  test("the page of all agents has a row for each agent, which leads to its runs", async () => {
    const page = await suite.open("/console/analytics", WIDE);
    const agents = page.getByRole("table", { name: "Agents" });

    await expect.poll(() => agents.getByRole("row").count()).toBe(3);
    await agents.locator("[data-row-link]").filter({ hasText: "Desk" }).click();

    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`${suite.desk.agentPath}/runs`);
    expect(new URL(page.url()).searchParams.get("source")).toBe("production");
  });

  test("every tile and row of all agents leads to runs, by a menu of agents where there are several", async () => {
    // The agent "Priced" never had a runtime.
    const expects = [/^404 GET \/api\/agents\/\w+\/functions$/];
    const page = await suite.open("/console/analytics", { ...WIDE, expects });
    const tables = page.getByRole("table");
    const figures = page.locator("main").locator("dt, tbody tr");
    await page.getByRole("table", { name: "Models" }).waitFor();
    const without = figures.filter({ hasNot: page.locator("a, button") });
    expect(await without.allInnerTexts()).toEqual([]);
    expect(await tables.count()).toBeGreaterThan(5);
    await expectAccessible(page);
    for (const [name, agent, search, count] of [
      ["get_order_details", "Desk", { functionName: "get_order_details" }, 2],
      ["no role", "Priced", { noRole: "1" }, 2],
      ["offline", "Priced", { model: "offline" }, 2],
      ["Failed: failed runs", "Priced", { status: "failed" }, 1],
    ] as const) {
      await page.goto("/console/analytics");
      await page.locator("main").getByRole("button", { name, exact: true }).first().click();
      await page.getByRole("menu").getByRole("menuitem", { name: agent, exact: true }).click();
      await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
      expect(Object.fromEntries(new URL(page.url()).searchParams), name).toMatchObject({ range: "7d", ...search });
      const rows = page.getByRole("table", { name: "Runs" }).getByRole("row");
      await expect.poll(() => rows.count(), { message: name }).toBe(1 + count);
    }
    await page.goto("/console/analytics");
    await page.locator("main").getByRole("button", { name: "agent", exact: true }).click();
    await page.getByRole("menuitem", { name: "Filter this page" }).click();
    await page.waitForURL(/role=agent/);
  });

  test("a range without queries says so, and offers those of the console", async () => {
    const page = await suite.open(`${path()}?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z`, WIDE);

    await page.getByText("No queries in this time range").waitFor();
    await page.getByRole("button", { name: "Include queries from the console" }).click();
    await page.waitForURL(/source=all/);
    await page.getByText("No queries in this time range").waitFor();
    expect(await page.getByRole("img").count()).toBe(0);
  });
});
