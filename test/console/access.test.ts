import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DESK } from "../../packages/control-plane/test/console/support/console-desk.ts";
import { hasBrowser, visit, type VisitOptions } from "../support/browser.ts";
import { startDeskConsole, type DeskConsole } from "./support/desk-console.ts";
import { settled } from "./support/page-checks.ts";

describe.skipIf(!hasBrowser)("roles in the console", { timeout: 60_000 }, () => {
  let desk: DeskConsole;
  let signedIn: NonNullable<VisitOptions["storageState"]>;
  beforeAll(async () => {
    desk = await startDeskConsole({ service: DESK });
    signedIn = await desk.signedInState();
  }, 60_000);
  afterAll(() => desk[Symbol.asyncDispose]());

  async function open(path: string): Promise<Page> {
    const { page } = await visit(desk.url, { storageState: signedIn });
    await page.goto(path);
    await settled(page);
    return page;
  }

  /** Fills in the form of the function that is shown, and calls it. */
  async function callAs(page: Page, role: string, field: string, value: string): Promise<void> {
    await page.getByLabel("Role", { exact: true }).fill(role);
    await page.keyboard.press("Escape");
    await page.getByRole("textbox", { name: new RegExp(`^${field}\\b`) }).fill(value);
    await page.getByRole("button", { name: `Call as ${role}` }).click();
  }

  test("the matrix says which role may call what, and why; a cell leads to trying it", async () => {
    const page = await open(`${desk.agentPath}/access`);
    const matrix = page
      .getByRole("table", { name: "Functions by roles" })
      .or(page.getByRole("grid", { name: "Functions by roles" }));
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
    await panel.getByRole("link", { name: "Try as this role" }).click();

    await page.getByRole("heading", { level: 1, name: "close_shop" }).waitFor();
    expect(await page.getByLabel("Role", { exact: true }).inputValue()).toBe("agent");
  });

  test("a call as a role shows its result without what is withheld, or the rule that refused it", async () => {
    const page = await open(`${desk.agentPath}/functions/show_order`);
    await callAs(page, "customer", "id", "7");
    await page.getByText("Withheld from customer").waitFor();
    const result = page.getByRole("region", { name: "Result" }).first();
    expect(await result.innerText()).toMatch(/\{\s+id: 7\s+\}$/);
    await callAs(page, "manager", "id", "7");
    await result.getByText(/^cost: 7$/).waitFor();

    await page.goto(`${desk.agentPath}/functions/refund`);
    await settled(page);
    await callAs(page, "customer", "amount", "5");
    await page.getByText(/The role list .* does not name customer/).waitFor();
    await callAs(page, "agent", "amount", "500");
    await page.getByText(/its authorize check refused this call/).waitFor();
    await callAs(page, "manager", "amount", "500");
    await result.getByText(/^refunded: 500$/).waitFor();

    // What was refused is in the audit log, by its rule.
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

  test("whoever is invited as a viewer sees everything and can change nothing", async () => {
    const owner = await open("/console/members");
    await owner.getByRole("button", { name: "Invite a member" }).click();
    await owner.getByLabel("E-mail").fill("vera@example.com");
    await owner.getByRole("radio", { name: /viewer/ }).click();
    await owner
      .getByRole("dialog")
      .getByRole("button", { name: /invite|link/i })
      .last()
      .click();
    const shown = owner.getByRole("dialog", { name: "A link for vera@example.com" });
    await shown.getByRole("button", { name: "Show" }).click();
    const link = await shown.getByLabel("One-time link").innerText();

    const { page, expect: tolerate } = await visit(desk.url);
    await page.goto(link);
    await page.getByLabel("Your name").fill("Vera");
    await page.getByLabel("Password").fill("correct horse battery");
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();

    await page.goto(`${desk.agentPath}/keys`);
    await settled(page);
    expect(await page.getByRole("button", { name: "New API key" }).isDisabled()).toBe(true);
    await page.goto(`${desk.agentPath}/functions/show_order`);
    await settled(page);
    expect(await page.getByRole("button", { name: /^Call / }).isDisabled()).toBe(true);
    await page.goto("/console/members");
    await settled(page);
    expect(await page.getByRole("button", { name: "Invite a member" }).isDisabled()).toBe(true);

    // The buttons are a courtesy: the interface refuses as well.
    tolerate(/^403 POST \/api\//);
    const refused = await page.evaluate(
      async (paths) => {
        const post = (path: string) =>
          fetch(`/api${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
        return Promise.all(paths.map(async (path) => (await post(path)).status));
      },
      [`/agents/${desk.agentId}/credentials`, `/agents/${desk.agentId}/functions/show_order/try`, "/members"],
    );
    expect(refused).toEqual([403, 403, 403]);
  });
});
