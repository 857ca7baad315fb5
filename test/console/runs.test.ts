import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { sampleRequest, sampleRun } from "../../packages/store/test/contract/world.ts";
import { pendingOrder } from "../support/retail.ts";
import { askAround, describeConsole, type DeskConsole } from "./support/desk-console.ts";
import { countedClicks, memberState } from "./support/members.ts";
import { expectAccessible, settled, sidewaysScroll } from "./support/page-checks.ts";
import { endedRun, rowTexts } from "./support/runs.ts";

const WIDE = { viewport: { width: 1440, height: 900 } };

async function prepare(desk: DeskConsole): Promise<void> {
  await askAround(desk);
  await desk.query("What is 3 * 3?", {}, { "X-Request-Id": "req.albatross-1" });
  await endedRun(desk, "A cheap one", 1_000);
  await endedRun(desk, "The dearest one", 9_000_000, "The albatross has landed.");
  await endedRun(desk, "Another dear one", 3_000_000);
}

describeConsole("runs as a tool", { prepare }, (suite) => {
  const runsPath = (): string => `${suite.desk.agentPath}/runs`;

  test("two clicks show the most expensive runs, at every width", async () => {
    const page = await suite.open(suite.desk.agentPath, WIDE);
    const clicks = countedClicks();
    await clicks.click(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Runs" }));
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
    await clicks.click(page.getByRole("columnheader", { name: "Cost" }).getByRole("button"));

    await expect
      .poll(() => page.evaluate<string[]>(`${rowTexts}.slice(0, 3)`))
      .toEqual(["The dearest one", "Another dear one", "A cheap one"]);
    expect(clicks.count).toBe(2);
    expect(await page.getByRole("columnheader", { name: "Cost" }).getAttribute("aria-sort")).toBe("descending");
    await expectAccessible(page);

    const small = await suite.open(suite.desk.agentPath, { viewport: { width: 1024, height: 768 } });
    await small.getByRole("link", { name: "Model cost: most expensive runs" }).click();
    await expect.poll(() => small.evaluate<string[]>(`${rowTexts}.slice(0, 1)`)).toEqual(["The dearest one"]);
    expect(await sidewaysScroll(small)).toBe(0);

    const narrow = await suite.open(runsPath(), { viewport: { width: 390, height: 844 } });
    await narrow.getByRole("button", { name: "Sort and columns" }).click();
    await narrow.getByRole("menuitemradio", { name: "Most expensive" }).click();
    await expect.poll(() => narrow.evaluate<string[]>(`${rowTexts}.slice(0, 1)`)).toEqual(["The dearest one"]);
    expect(await sidewaysScroll(narrow)).toBe(0);
  });

  test("a filter of the menu and a word of an answer find a run, and the sums are those of the match", async () => {
    const page = await suite.open(runsPath(), WIDE);
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    await page.getByRole("menuitem", { name: "Model" }).click();
    await page.getByRole("combobox", { name: "Model" }).fill("grand");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate<number>(`${rowTexts}.length`)).toBe(3);
    await page.keyboard.press("Tab");
    await page.getByRole("group", { name: "All matching runs" }).getByText("3 runs").waitFor();
    await page.getByRole("group", { name: "All matching runs" }).getByText("$12.00").waitFor();

    await page.getByRole("searchbox", { name: "Search text or ID" }).fill("albatross");
    await expect.poll(() => page.evaluate<string[]>(rowTexts)).toEqual(["The dearest one"]);
    expect(new URL(page.url()).search).toContain("model=grand");

    await page.getByRole("searchbox", { name: "Search text or ID" }).fill("nowhere");
    await page.getByText("No matching runs").waitFor();
    await page.getByRole("button", { name: "Clear 2 filters" }).click();
    await page.getByText("Another dear one").waitFor();
  });

  test("the id of a request finds its run", async () => {
    const page = await suite.open(runsPath(), WIDE);
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    await page.getByRole("menuitem", { name: "Request ID" }).click();
    const field = page.getByRole("combobox", { name: "Request ID" });

    await field.fill("req.albatross-1");
    await field.press("Enter");
    await expect.poll(() => page.evaluate<string[]>(rowTexts)).toEqual(["What is 3 * 3?"]);
    await field.fill("req.albatross-2");
    await field.press("Enter");
    await page.getByText("No matching runs").waitFor();
  });

  test("two selected rows are added up, compared and run again", async () => {
    const page = await suite.open(`${runsPath()}?q=${encodeURIComponent(pendingOrder.orderId)}`, WIDE);
    const before = await page.getByRole("checkbox", { name: "Select the row" }).count();
    await page.goto(`${runsPath()}?source=api`);
    await settled(page);
    const boxes = page.getByRole("checkbox", { name: "Select the row" });
    await boxes.nth(0).click();
    const selected = page.getByRole("group", { name: "Selected runs" });
    await selected.getByText("1 selected").waitFor();
    expect(await selected.getByRole("link", { name: "Compare" }).count()).toBe(0);
    await boxes.nth(1).click();
    await selected.getByText("2 selected").waitFor();
    await selected.getByRole("link", { name: "Compare" }).click();
    await page.getByRole("heading", { level: 1, name: /Compar/ }).waitFor();
    expect(before).toBeGreaterThan(0);

    await page.goto(`${runsPath()}?q=${encodeURIComponent(pendingOrder.orderId)}`);
    await settled(page);
    await page.getByRole("checkbox", { name: /^Select the \d+ loaded runs?$/ }).click();
    await page.getByRole("group", { name: "Selected runs" }).getByRole("button", { name: "Run again" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/with real function calls/).waitFor();
    await dialog.getByRole("button", { name: "Run again" }).click();
    await page.getByText(/^Started \d+ runs?$/).waitFor();
  });

  test("selected open runs are cancelled together", async () => {
    const { store, orgId, agentId } = suite.desk;
    for (const query of ["Hold on, one", "Hold on, two"])
      await store.runs.start(sampleRun({ orgId, agentId, leaseMs: 600_000, request: sampleRequest({ query }) }));
    const page = await suite.open(`${runsPath()}?q=hold+on`, WIDE);
    await page.getByRole("checkbox", { name: /^Select the \d+ loaded runs?$/ }).click();
    await page.getByRole("button", { name: "Cancel 2 runs" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel 2 runs?" });
    const buttons = () => dialog.getByRole("button").allInnerTexts();
    await expect.poll(buttons).toEqual(["", "Keep running", "Cancel 2 runs"]);
    expect(await dialog.locator("form").isVisible()).toBe(false);
    await dialog.getByRole("button", { name: "Cancel 2 runs" }).click();

    await page.getByText("Cancelling 2 runs").waitFor();
    const audit = await store.audit.list({ agentId, action: "run.cancel_requested", limit: 5 });
    expect(audit.items).toHaveLength(2);
  });

  test("an export has every run that matches, not only the loaded ones", async () => {
    const page = await suite.open(`${runsPath()}?model=grand&sort=-costUsd`, WIDE);
    await page.getByRole("button", { name: "Export" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("menuitem", { name: "CSV" }).click(),
    ]);
    const file = await download.path();
    const lines = readFileSync(file, "utf8").trimEnd().split("\r\n");

    expect(lines[0]).toMatch(/^runId,/);
    expect(lines.slice(1).map((line) => line.split(",")[4])).toEqual([
      "The dearest one",
      "Another dear one",
      "A cheap one",
    ]);
  });

  test("a view keeps filters and order, counts its runs, and is shared with members who cannot share", async () => {
    const page = await suite.open(`${runsPath()}?model=grand&sort=-costUsd`, WIDE);
    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("menuitem", { name: "Save this view" }).click();
    const dialog = page.getByRole("dialog", { name: "Save this view" });
    await dialog.getByRole("textbox", { name: "Name" }).fill("Dear ones");
    await dialog.getByRole("checkbox", { name: "Share with all members" }).click();
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved the view").waitFor();

    const storageState = await memberState(suite.desk, suite.desk.orgId, "viewer");
    const viewer = await suite.open(runsPath(), { ...WIDE, storageState });
    await viewer.getByRole("button", { name: "Views" }).click();
    const item = viewer.getByRole("menuitem", { name: /^Dear ones/ });
    await expect.poll(() => item.innerText()).toMatch(/Dear ones\s+3/);
    await item.click();
    await expect
      .poll(() => viewer.evaluate<string[]>(rowTexts))
      .toEqual(["The dearest one", "Another dear one", "A cheap one"]);

    await viewer.getByRole("button", { name: "Views" }).click();
    await viewer.getByRole("menuitem", { name: "Save this view" }).click();
    const own = viewer.getByRole("dialog", { name: "Save this view" });
    expect(await own.getByRole("checkbox").getAttribute("aria-disabled")).toBe("true");
    await own.getByText(/Requires the role developer/).waitFor();
    await own.getByRole("button", { name: "Cancel" }).click();

    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("menuitem", { name: "Delete views" }).click();
    await page.getByRole("button", { name: "Delete Dear ones" }).click();
    await expect.poll(() => page.getByRole("list", { name: "Views" }).innerText()).toBe("");
  });

  test("members choose columns, which the browser keeps", async () => {
    const page = await suite.open(runsPath(), { viewport: { width: 1600, height: 900 } });
    await page.getByRole("button", { name: "Sort and columns" }).click();
    await page.getByRole("menuitemcheckbox", { name: "Model" }).click();
    await page.getByRole("menuitemcheckbox", { name: "Calls" }).click();
    await page.keyboard.press("Escape");
    const heads = () => page.getByRole("columnheader").allInnerTexts();
    await expect.poll(heads).toContain("Model");
    await page.reload();
    await settled(page);
    expect(await heads()).toContain("Model");
    expect(await heads()).not.toContain("Calls");
    expect(await sidewaysScroll(page)).toBe(0);
  });

  test("a viewer selects and adds up runs, but cannot run them again", async () => {
    const state = await memberState(suite.desk, suite.desk.orgId, "viewer");
    const page = await suite.open(runsPath(), { ...WIDE, storageState: state });
    await page.getByRole("checkbox", { name: "Select the row" }).first().click();
    const again = page.getByRole("group", { name: "Selected runs" }).getByRole("button", { name: "Run again" });
    expect(await again.getAttribute("aria-disabled")).toBe("true");
  });
});
