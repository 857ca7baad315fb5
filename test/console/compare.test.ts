import { expect, test } from "vitest";
import { deliveredOrder, pendingOrder } from "../support/retail.ts";
import { describeConsole } from "./support/desk-console.ts";
import { countedClicks, memberState } from "./support/members.ts";
import { expectAccessible, settled, sidewaysScroll } from "./support/page-checks.ts";

const QUESTION = `What is the status of order ${pendingOrder.orderId}?`;
const WIDE = { viewport: { width: 1440, height: 900 } };

describeConsole("runs again and compared", {}, (suite) => {
  test("one click repeats a run, both name each other, and two more compare them", async () => {
    const { runId } = await suite.desk.query(QUESTION, { role: "agent", contextJson: '{"desk":"north"}' });
    const page = await suite.open(`${suite.desk.agentPath}/runs/${runId}`, WIDE);

    await page.getByRole("button", { name: "Run again", exact: true }).click();
    await page.getByText("Repeats", { exact: false }).getByRole("link", { name: runId }).waitFor();
    await page.getByText("succeeded").first().waitFor();
    await page.getByRole("button", { name: "Compare" }).click();
    await page
      .getByRole("list", { name: "Runs with the same query" })
      .getByRole("link", { name: /^origin.*status of order.*succeeded.*agent/ })
      .click();

    await page.getByText("Same calls with the same results, same answer").waitFor();
    await page.getByRole("row", { name: "Settings Equal" }).waitFor();
    for (const name of ["Query", "Role", "Context", "Model", "Settings", "Function set"])
      await page.getByRole("rowheader", { name, exact: true }).waitFor();

    await page.getByRole("link", { name: runId, exact: true }).first().click();
    await page.getByText("Repeated by", { exact: false }).getByRole("link").waitFor();
  });

  test("four clicks compare two runs, with what differs", async () => {
    const contextJson = JSON.stringify({ customerId: pendingOrder.ownerId });
    await suite.desk.query(`What is the status of order ${deliveredOrder.orderId}?`, { role: "customer", contextJson });
    await suite.desk.store.accounts.updateAgent(suite.desk.agentId, { settings: { maxTokens: 1_200 } });
    await suite.desk.query(`What is the status of order ${deliveredOrder.orderId}?`, { role: "agent" });
    const page = await suite.open(`${suite.desk.agentPath}/runs`, WIDE);
    const clicks = countedClicks();

    await clicks.click(page.getByRole("link", { name: deliveredOrder.orderId }).first());
    await clicks.click(page.getByRole("button", { name: "Compare" }));
    const others = page.getByRole("list", { name: "Runs", exact: true });
    await clicks.click(others.getByRole("link").filter({ hasText: "customer" }).first());

    await page.getByText("different outcome").first().waitFor();
    expect(clicks.count).toBeLessThanOrEqual(4);
    await page.getByText("different answers").waitFor();
    expect(await page.getByRole("row", { name: /^Role differs/ }).innerText()).toMatch(/customer\s+agent/);
    expect(await page.getByRole("row", { name: /^Max tokens differs/ }).innerText()).toMatch(/[\d,]+\s+1,200$/);
    await page.getByRole("row", { name: "Other settings Equal" }).waitFor();
    expect(await page.getByRole("rowheader", { name: /^Steps/ }).count()).toBe(0);
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: "dark" });
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await settled(page);
    expect(await sidewaysScroll(page)).toBe(0);
  });

  test("a comparison shows where long queries differ, and says that failed runs have no answers", async () => {
    const long = `${QUESTION} ${"Please be careful. ".repeat(40)}`;
    const llmConfig = { provider: "openai" };
    const first = await suite.desk.query(`${long} First.`, { role: "agent", llmConfig });
    const second = await suite.desk.query(`${long} Second.`, { role: "agent", llmConfig });
    const page = await suite.open(`${suite.desk.agentPath}/compare?a=${first.runId}&b=${second.runId}`, WIDE);

    await page.getByText("Same calls with the same results, no answers").waitFor();
    expect(await page.getByRole("row", { name: /^Query differs/ }).innerText()).toMatch(/First\.\s+.*Second\.$/s);
    await page
      .getByRole("row", { name: /^State/ })
      .getByText("provider_not_configured")
      .first()
      .waitFor();
  });

  test("a viewer cannot repeat a run, and a comparison with an unknown run says so", async () => {
    const { runId } = await suite.desk.query(QUESTION, { role: "agent" });
    const { page, expect: allow } = await suite.visit({
      ...WIDE,
      storageState: await memberState(suite.desk, suite.desk.orgId, "viewer"),
    });
    await page.goto(`${suite.desk.agentPath}/runs/${runId}`);
    const again = page.getByRole("button", { name: "Run again", exact: true });
    await again.waitFor();
    expect(await again.getAttribute("aria-disabled")).toBe("true");

    allow(/^404 GET \/api\//);
    await page.goto(`${suite.desk.agentPath}/compare?a=${runId}&b=run_0`);
    await page.getByText("The run was not found in this organisation.").waitFor();
    await page.goto(`${suite.desk.agentPath}/compare`);
    await page.getByText("No runs to compare").waitFor();
  });
});
