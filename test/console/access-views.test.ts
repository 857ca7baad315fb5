import { defineFunction, defineService } from "@patchbay/functions";
import { lockOf } from "@patchbay/functions/access";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { z } from "zod";
import { describeConsole } from "./support/desk-console.ts";
import { memberState } from "./support/members.ts";
import { expectAccessible, settled } from "./support/page-checks.ts";

const shop = (limit: number, roles = ["agent"]) =>
  defineService({
    name: "shop",
    roles: ["agent", "manager"],
    functions: [
      defineFunction({
        name: "refund",
        description: "Refunds an amount of an order.",
        input: z.object({ amount: z.number().describe("In euros.") }),
        roles,
        authorize: ({ input }) => input.amount <= limit,
        cases: { small: { input: { amount: 5 } }, large: { input: { amount: 500 } } },
        handler: async ({ amount }) => amount,
      }),
    ],
  });

const before = shop(100);

describeConsole("ground of access in the console", { service: before }, (suite) => {
  const access = (search = "") => suite.open(`${suite.desk.agentPath}/access${search}`);
  const choose = (page: Page, name: string, text: string) =>
    page
      .getByLabel("Lock file", { exact: true })
      .setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(text) });

  test("a cell counts its cases, and its panel has their verdicts", async () => {
    const page = await access();
    await page.getByRole("button", { name: /refund, agent, conditional.*1\/2 cases allowed/ }).click();
    const cases = page.getByRole("dialog", { name: "refund" }).getByRole("region", { name: "Cases" });
    await cases.getByText("small", { exact: true }).waitFor();
    expect(await cases.innerText()).toMatch(/small\s+allowed\s+large\s+denied/);
    await expectAccessible(page);
  });

  test("a role sees names, descriptions and parameters of its functions, and another role sees none", async () => {
    const page = await access();
    await page.getByRole("tab", { name: "What a role sees" }).click();
    const seen = page.getByRole("tabpanel").getByRole("list", { name: "Functions" });
    await seen.getByText("Refunds an amount of an order.").waitFor();
    await seen.getByText("Parameters", { exact: false }).click();
    await seen.getByText('"In euros."').waitFor();
    await expectAccessible(page);

    await page.getByRole("combobox", { name: "Role" }).click();
    await page.getByRole("option", { name: "manager" }).click();
    await page.getByText("The role sees no functions").waitFor();
    await page.getByText("1 function hidden from the model").waitFor();
    expect(new URL(page.url()).search).toContain("as=manager");
  });

  test("the page compares functions with a lock file and with the set before them", async () => {
    const page = await access("?view=changes");
    await page.getByText("No earlier function set of the same services is stored.").waitFor();
    await choose(page, "access.lock.json", JSON.stringify(await lockOf(before)));
    await page.getByText("Access matches access.lock.json.").waitFor();

    const accessLock = await lockOf(before);
    await suite.desk.connect(shop(1_000, ["agent", "manager"]), { deployment: "2026-11-22", accessLock });
    await page.goto(page.url().replace("?view=changes", ""));
    await settled(page);
    await page.getByText("2 changes since the lock").waitFor();
    await page.getByRole("link", { name: "Show changes" }).click();
    const reported = page.getByRole("region", { name: "Lock of shop" });
    await reported.getByText("agent gained case large of refund.").waitFor();
    await expectAccessible(page);
    const changes = page.getByRole("region", { name: "Since an earlier function set" });
    await changes.getByText("manager gained refund, decided call by call.").waitFor();
    await choose(page, "access.lock.json", JSON.stringify(accessLock));
    const lock = page.getByRole("region", { name: "Since the lock" });
    await lock.getByText("agent gained case large of refund.").waitFor();
    expect(await lock.getByText("widening", { exact: true }).count()).toBe(2);
    await expectAccessible(page);
  });

  test("rights that no role used are listed with the days since they were granted", async () => {
    const page = await access();
    await page.getByRole("tab", { name: "Unused rights" }).click();
    const rights = page.getByRole("tabpanel").getByRole("table", { name: "Unused rights" });
    await rights.getByText("refund", { exact: true }).first().waitFor();
    expect(await rights.getByRole("row").nth(1).innerText()).toMatch(/refund\s+agent\s+new\s+0 days\s+never/);
    await expectAccessible(page);
  });

  test("a file that is not a lock is refused with the reason", async () => {
    const { page, expect: allow } = await suite.visit();
    allow(/^400 POST /);
    await page.goto(`${suite.desk.agentPath}/access?view=changes`);
    await settled(page);
    const lock = page.getByRole("region", { name: "Since the lock" });

    await choose(page, "notes.json", "{not json");
    await lock.getByText("notes.json is not JSON.", { exact: false }).waitFor();
    await choose(page, "package.json", '{"name":"shop"}');
    await lock.getByText(/^This file is not an access lock: it has no version\. /).waitFor();
  });

  test("an agent without functions shows how to connect them", async () => {
    const { agentId } = await suite.desk.admin.createAgent("Empty", { orgId: suite.desk.orgId });
    const { page, expect: allow } = await suite.visit();
    allow(/^404 GET /);
    await page.goto(`/console/agents/${agentId}/access?view=model`);
    await page.getByText("No functions yet").waitFor();
  });

  test("the first steps of an agent keep a viewer from creating a key, with the reason", async () => {
    const { admin, orgId } = suite.desk;
    const { agentId } = await admin.createAgent("Not connected", { orgId });
    const page = await suite.open(`/console/agents/${agentId}`, {
      storageState: await memberState(suite.desk, orgId, "viewer"),
    });
    const steps = page.getByRole("region", { name: "First steps" });
    await steps.getByText("Waiting for a runtime to connect").waitFor();
    const create = steps.getByRole("button", { name: "Create runtime key" });
    expect(await create.getAttribute("aria-disabled")).toBe("true");
    await create.click({ force: true });

    const described = (await create.getAttribute("aria-describedby")) ?? "none";
    expect(await page.locator(`[id="${described}"]`).textContent()).toMatch(
      /^Requires the role developer or owner\. Your role is viewer\.$/,
    );
    expect(await admin.credentials.list("runtime", agentId)).toEqual([]);
  });

  test("a member signs off the access, and the overview reminds of changes since", async () => {
    const page = await access();
    await page.getByText("not signed off", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Sign off" }).click();
    const dialog = page.getByRole("dialog", { name: "Sign off the access?" });
    await dialog.getByLabel("Days until the next review").fill("30");
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Sign off" }).click();
    await page.getByText(/^Developer signed off .*; next review/).waitFor();

    await suite.desk.connect(shop(2_000), { deployment: "2026-11-23" });
    await page.goto(suite.desk.agentPath);
    await page.getByText("shop changed since the sign-off").waitFor();
    await page.getByRole("link", { name: "Review access" }).click();
    await page.getByRole("button", { name: "Sign off" }).waitFor();
    await expectAccessible(page);
  });
});
