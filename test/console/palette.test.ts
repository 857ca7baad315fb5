import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { event, sampleCall, sampleRun, sampleTurn } from "../../packages/store/test/contract/world.ts";
import { requestOf } from "../../packages/store/test/contract/asking-runs.ts";
import { pendingOrder } from "../support/retail.ts";
import { describeConsole, type DeskConsole } from "./support/desk-console.ts";
import { memberState } from "./support/members.ts";
import { settled } from "./support/page-checks.ts";

let run: { runId: string; threadId: string; callId: string };

async function prepare(desk: DeskConsole): Promise<void> {
  const { store, orgId, agentId, admin } = desk;
  const { runId, threadId } = await desk.query(`What is the status of order ${pendingOrder.orderId}?`, {
    role: "agent",
    sessionId: "visit-3",
  });
  const [call] = (await store.runs.checkpoint(runId)).calls;
  run = { runId, threadId, callId: call!.callId };

  const waiting = sampleRun({ orgId, agentId, leaseMs: 600_000 });
  await store.runs.start(waiting);
  await store.runs.commit(
    { runId: waiting.runId, fence: 1 },
    {
      events: [event(1)],
      turn: sampleTurn(0),
      calls: [sampleCall("call_refund")],
      approvals: { requested: [requestOf({ clock: { now: Date.now } }, "refund")] },
    },
  );
  await admin.credentials.create("api", { agentId, label: "Web shop" });
  await admin.serviceTokens.create({ orgId, scopes: ["agents:read"], label: "Terraform" });
  const view = { orgId, agentId, search: { status: "failed" } };
  await store.views.add({ ...view, viewId: "view_1", memberId: "mem_other", name: "Failed at night", shared: true });
  await store.views.add({ ...view, viewId: "view_2", memberId: "mem_other", name: "Private failures", shared: false });
}

describeConsole("the palette", { prepare }, (suite) => {
  async function search(page: Page, text: string): Promise<void> {
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Search" }).getByRole("combobox").and(page.locator(":focus")).waitFor();
    await page.keyboard.type(text);
  }

  test("finds everything of the organisation by id or name, and opens it", async () => {
    const page = await suite.open("/console/members");
    const { agentId, agentPath } = suite.desk;
    for (const [text, option, address] of [
      [run.runId, /What is the status/, `${agentPath}/runs/${run.runId}`],
      ["get_order_det", "get_order_details", `${agentPath}/functions/get_order_details`],
      ["visit-3", /visit-3/, `${agentPath}/runs?sessionId=visit-3`],
      [run.threadId, /What is the status/, `${agentPath}/threads/${run.threadId}`],
      [run.callId, /get_order_details/, `${agentPath}/runs/${run.runId}?span=${encodeURIComponent(run.callId)}`],
      ["apr_refund", /refund/, "/console/approvals?status=all"],
      ["Web sh", /Web shop/, `${agentPath}/keys?key=`],
      ["at night", "Failed at night", `${agentPath}/runs?status=failed`],
      ["Terraf", /Terraform/, "/console/settings"],
      [agentId, "Desk", agentPath],
      ["Develop", /Developer/, "/console/members"],
    ] as const) {
      await search(page, text);
      await page.getByRole("option", { name: option }).first().click();
      await expect
        .poll(() => page.url().slice(suite.desk.url.length), { message: text })
        .toMatch(new RegExp(`^${RegExp.escape(address)}`));
      await page.getByRole("dialog", { name: "Search" }).waitFor({ state: "detached" });
      if (text === run.callId) await page.getByRole("separator", { name: "Panel width" }).waitFor();
      if (text === "apr_refund") {
        await page.getByRole("dialog", { name: "refund" }).getByText("Over 100.").waitFor();
        await page.keyboard.press("Escape");
      }
      if (text === "Web sh") await page.getByRole("dialog", { name: "Web shop" }).waitFor();
      if (text === "Web sh") await page.keyboard.press("Escape");
    }
  });

  test("keeps the highlighted option when results arrive, and highlights the first one when it disappears", async () => {
    const page = await suite.open("/console/members");
    const searched = Promise.withResolvers<void>();
    await page.route(/\/search\?q=a$/, async (route) => {
      await searched.promise;
      await route.continue();
    });
    const highlighted = page.locator("[role=option][data-highlighted]");
    await search(page, "a");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => highlighted.innerText()).toMatch(/^Approvals/);

    searched.resolve();
    await page.getByRole("option", { name: "get_order_details" }).waitFor();
    expect(await highlighted.innerText()).toMatch(/^Approvals/);
    await page.getByRole("option", { name: "get_order_details" }).hover();
    await expect.poll(() => highlighted.innerText()).toMatch(/^get_order_details/);

    await page.keyboard.type("udi");
    await expect.poll(() => highlighted.allInnerTexts()).toEqual([expect.stringMatching(/^Audit/)]);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
  });

  test("carries the time range to the page that it opens", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/runs?range=7d`);

    await search(page, "Organisation Analytics");
    await page.getByRole("option", { name: "Analytics" }).click();

    await expect.poll(() => page.url().slice(suite.desk.url.length)).toBe("/console/analytics?range=7d");
  });

  test("shows that a search failed, without results of an earlier one", async () => {
    const { page, ...visit } = await suite.visit();
    visit.expect(/^400 GET \/api\/search/);
    await page.goto("/console/members");
    await settled(page);
    await search(page, "get_order_det");
    await page.getByRole("option", { name: "get_order_details" }).waitFor();
    const error = { error: { code: "internal", message: "The search failed." } };
    await page.route(/\/search\?/, (route) => route.fulfill({ status: 400, json: error }));

    await page.keyboard.type("x");

    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("option").count()).toBe(0);
  });

  test("finds no service token for a developer, and no private view of another member", async () => {
    const storageState = await memberState(suite.desk, suite.desk.orgId, "developer");
    const page = await suite.open("/console/members", { storageState });

    for (const text of ["Terraform", "Private failures"]) {
      await search(page, text);
      await page.getByText("No results").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog", { name: "Search" }).waitFor({ state: "detached" });
    }
  });

  test("finds nothing of another organisation, and says so", async () => {
    const { orgId } = await suite.desk.admin.createOrg("Other");
    const page = await suite.open("/console/members", { storageState: await memberState(suite.desk, orgId, "owner") });
    await search(page, run.runId);

    await page.getByText("No results").waitFor();
    expect(await page.getByRole("option").count()).toBe(0);
  });
});
