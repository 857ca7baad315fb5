import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { DESK } from "../../packages/console-api/test/support/console-desk.ts";
import { visit } from "../support/browser.ts";
import { describeConsole } from "./support/desk-console.ts";
import { settled } from "./support/page-checks.ts";

describeConsole("roles in the console", { service: DESK }, (suite) => {
  /** Completes the form of the open function and calls it. */
  async function callAs(page: Page, role: string, field: string, value: string): Promise<void> {
    await page.getByLabel("Role", { exact: true }).fill(role);
    await page.keyboard.press("Escape");
    await page.getByRole("textbox", { name: new RegExp(`^${field}\\b`) }).fill(value);
    await page.getByRole("button", { name: `Call as ${role}` }).click();
  }

  test("the matrix shows which role may call which function, and why; a cell links to a test call", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/access`);
    const matrix = page
      .getByRole("table", { name: "Functions by role" })
      .or(page.getByRole("grid", { name: "Functions by role" }));
    for (const [cell, verdict] of [
      ["close_shop, manager", "allowed"],
      ["close_shop, agent", "denied"],
      ["refund, agent", "conditional"],
      ["show_order, customer", "allowed"],
    ])
      await matrix.getByRole("button", { name: `${cell}, ${verdict}` }).waitFor();

    await matrix.getByRole("button", { name: "close_shop, agent, denied" }).click();
    const panel = page.getByRole("dialog", { name: "close_shop" });
    await panel.getByText("as agent").waitFor();
    expect(await panel.innerText()).toContain("manager");
    await panel.getByRole("link", { name: "Test as this role" }).click();

    await page.getByRole("heading", { level: 1, name: "close_shop" }).waitFor();
    await expect.poll(() => page.getByLabel("Role", { exact: true }).inputValue()).toBe("agent");
  });

  test("a test call shows the result without restricted fields, or the rule that denied it", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/functions/show_order`);
    await callAs(page, "customer", "id", "7");
    await page.getByText("Removed for customer").waitFor();
    const result = page.getByRole("region", { name: "Value returned" });
    await expect.poll(() => result.innerText()).toMatch(/\{\s+id: 7\s+\}$/);
    await callAs(page, "manager", "id", "7");
    await result.getByText(/^cost: 7$/).waitFor();

    await page.goto(`${suite.desk.agentPath}/functions/refund`);
    await settled(page);
    await callAs(page, "customer", "amount", "5");
    await page.getByText(/The function requires one of the roles .*\. The call had the role customer\./).waitFor();
    await callAs(page, "agent", "amount", "500");
    await page.getByText(/its authorize check denied this call/).waitFor();
    await callAs(page, "manager", "amount", "500");
    await result.getByText(/^refunded: 500$/).waitFor();

    // The audit log has the denied call with its rule.
    await page.goto("/console/audit?functionName=refund");
    await settled(page);
    const entries = page.getByRole("table", { name: "Audit entries" });
    await entries
      .getByText(/refund.*customer|customer.*refund/)
      .first()
      .waitFor();
    await entries
      .getByRole("link")
      .filter({ hasText: /customer/ })
      .first()
      .click();
    await page.getByRole("dialog").getByText("roles", { exact: true }).waitFor();
  });

  test("a viewer sees every page and cannot change anything", async () => {
    const owner = await suite.open("/console/members");
    await owner.getByRole("button", { name: "Invite a member" }).click();
    await owner.getByLabel("E-mail").fill("vera@example.com");
    await owner.getByRole("radio", { name: /viewer/ }).click();
    await owner
      .getByRole("dialog")
      .getByRole("button", { name: /invite|link/i })
      .last()
      .click();
    const shown = owner.getByRole("dialog", { name: "Link for vera@example.com" });
    await shown.getByRole("button", { name: "Show" }).click();
    const link = await shown.getByLabel("One-time link").innerText();

    const { page, expect: tolerate } = await visit(suite.desk.url);
    await page.goto(link);
    await page.getByLabel("Your name").fill("Vera");
    await page.getByLabel("Password").fill("correct horse battery");
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();

    await page.goto(`${suite.desk.agentPath}/keys`);
    await settled(page);
    expect(await page.getByRole("button", { name: "New API key" }).isDisabled()).toBe(true);
    await page.goto(`${suite.desk.agentPath}/functions/show_order`);
    await settled(page);
    expect(await page.getByRole("button", { name: /^Call / }).isDisabled()).toBe(true);
    await page.goto("/console/members");
    await settled(page);
    expect(await page.getByRole("button", { name: "Invite a member" }).isDisabled()).toBe(true);

    // Disabled buttons are not enough: the API must deny the requests too.
    tolerate(/^403 POST \/api\//);
    const statuses = await page.evaluate(
      async (paths) => {
        const post = (path: string) =>
          fetch(`/api${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
        return Promise.all(paths.map(async (path) => (await post(path)).status));
      },
      [
        `/agents/${suite.desk.agentId}/credentials`,
        `/agents/${suite.desk.agentId}/functions/show_order/test-calls`,
        "/members",
      ],
    );
    expect(statuses).toEqual([403, 403, 403]);
  });
});
