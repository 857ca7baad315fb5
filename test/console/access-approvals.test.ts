import { readFile } from "node:fs/promises";
import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { PICTURES } from "../support/browser.ts";
import { describeConsole } from "./support/desk-console.ts";
import { expectAccessible, sidewaysScroll } from "./support/page-checks.ts";

const amount = z.object({ amount: z.number() });
const base = { description: "x", input: amount, roles: ["agent"], handler: async () => "done" };
const shop = defineService({
  name: "shop",
  roles: ["agent", "manager"],
  functions: [
    defineFunction({ ...base, name: "get_balance", effect: "read" }),
    defineFunction({ ...base, name: "close_account", effect: "destructive", approval: { by: ["manager"] } }),
    defineFunction({
      ...base,
      name: "grant_refund",
      effect: "write",
      authorize: ({ input }) => input.amount < 500,
      approval: { by: ["manager"], when: ({ input }) => input.amount > 100 },
      cases: { small: { input: { amount: 5 } }, large: { input: { amount: 300 } } },
    }),
  ],
});

describeConsole("approvals in the access pages", { service: shop }, (suite) => {
  test("a cell, its panel, the legend and the filter say which calls need approval by whom", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/access`);
    const matrix = page.getByRole("grid", { name: "Functions by role" });
    await matrix.getByRole("button", { name: "get_balance, agent, allowed" }).waitFor();
    await matrix.getByRole("button", { name: "close_account, agent, approval by manager" }).waitFor();
    await matrix.getByRole("button", { name: "close_account, manager, denied" }).waitFor();
    const cell = matrix.getByRole("button", {
      name: /^grant_refund, agent, some calls need approval by manager.*1\/2 cases allowed/,
    });
    const legend = page.getByRole("region", { name: "Legend" });
    expect(await legend.innerText()).toMatch(/approval\s+in the role list; a person must approve/);
    await expectAccessible(page);
    await page.screenshot({ path: `${PICTURES}access-approvals.png` });

    await cell.click();
    const panel = page.getByRole("dialog", { name: "grant_refund" });
    await panel.getByText("some calls need approval by manager", { exact: true }).first().waitFor();
    await panel.getByText(/its authorize check decides per call, and some calls need approval by manager\.$/).waitFor();
    await expectAccessible(page);
    await page.screenshot({ path: `${PICTURES}access-approvals-panel.png` });

    await page.goto(`${suite.desk.agentPath}/access?verdict=approval&as=agent`);
    await page.getByText("agent: 1 allowed, 2 with approval, 0 conditional, 0 denied of 3 functions.").waitFor();
    expect(await matrix.getByRole("rowheader").count()).toBe(2);
  });

  test("the export and the view of a role name the approval", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/access`);
    await page.getByRole("button", { name: "Export" }).click();
    const saving = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: /^CSV/ }).click();
    const csv = await readFile((await (await saving).path()) ?? "", "utf8");
    expect(csv).toMatch(/^grant_refund,write,agent,approval,".*some calls need approval by manager\."/m);

    await page.goto(`${suite.desk.agentPath}/access?view=model&as=agent`);
    const functions = page.getByRole("list", { name: "Functions" });
    await functions.getByText("approval by manager", { exact: true }).waitFor();
    await functions.getByText("some calls need approval by manager", { exact: true }).waitFor();
    await expectAccessible(page);
    await page.screenshot({ path: `${PICTURES}access-approvals-model.png` });
  });

  test("the matrix fits a narrow window", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/access`, { viewport: { width: 390, height: 844 } });
    await page.getByRole("button", { name: /some calls need approval by manager/ }).waitFor();
    expect(await sidewaysScroll(page)).toBe(0);
    await page.screenshot({ path: `${PICTURES}access-approvals-narrow.png` });
  });
});
