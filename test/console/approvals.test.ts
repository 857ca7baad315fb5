import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { describeConsole } from "./support/desk-console.ts";
import { memberState } from "./support/members.ts";
import { choose, expectAccessible, settled } from "./support/page-checks.ts";

const ran: unknown[] = [];
const shop = defineService({
  name: "shop",
  roles: ["agent", "manager", "director"],
  functions: [
    defineFunction({
      name: "refund_order",
      description: "Refunds an amount of an order.",
      input: z.object({ order: z.string(), amount: z.number() }),
      roles: ["agent"],
      title: "Refund an order",
      tags: ["money"],
      cases: { small: { input: { order: "o-1", amount: 5 } } },
      approval: { by: ["manager", "director"], when: () => "Refunds change money.", edit: ["amount"], fourEyes: false },
      handler: async (input) => {
        ran.push(input);
        return { refunded: input.amount };
      },
    }),
  ],
});

describeConsole("approvals in the console", { service: shop }, (suite) => {
  /** Starts a run that calls the function by hand as a role, and waits for its approval. */
  async function ask(order: string): Promise<string> {
    const page = await suite.open(`${suite.desk.agentPath}/functions/refund_order?tab=try`);
    const input = { order, amount: 50 };
    const started = await page.evaluate(
      async ([path, body]) => {
        const response = await fetch(`/api${path}`, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(body),
        });
        const reader = response.body!.getReader();
        let text = "";
        while (!text.includes("approvalRequest")) {
          const { value, done } = await reader.read();
          if (done) break;
          text += new TextDecoder().decode(value);
        }
        return text;
      },
      [
        `/agents/${suite.desk.agentId}/functions/refund_order/test-calls-stream`,
        { role: "agent", arguments: input },
      ] as const,
    );
    await page.context().close();
    expect(started).toContain('"approvalId"');
    return order;
  }

  test("a member changes an argument and approves a call, and its handler runs once", async () => {
    await ask("o-1");
    const page = await suite.open("/console/agents");
    await page.getByRole("link", { name: "Approvals 1 pending" }).click();
    await page.getByText('{"order":"o-1","amount":50}').waitFor();
    await page.locator("[data-row-link]").first().click();
    const panel = page.getByRole("dialog", { name: "refund_order" });
    await panel.getByText("Refunds change money.").waitFor();
    await expectAccessible(page);
    await panel.getByLabel("Change amount").fill("30");
    await panel.getByRole("list", { name: "Changed arguments" }).getByText("amount: 50 → 30").waitFor();
    await choose(panel.getByLabel("Decide as"), "director");
    await panel.getByRole("button", { name: "Approve" }).click();

    await page.getByText("Nothing to decide").waitFor();
    await expect.poll(() => ran).toEqual([{ order: "o-1", amount: 30 }]);
    await page.goto("/console/approvals?status=approved");
    await page.locator("[data-row-link]").first().click();
    await panel.getByText(/ as director$/).waitFor();
  });

  test("a link opens its approval, although the list does not show it", async () => {
    const page = await suite.open("/console/approvals?status=approved");
    await page.locator("[data-row-link]").first().click();
    await page.getByRole("dialog", { name: "refund_order" }).waitFor();
    const id = new URL(page.url()).searchParams.get("approval");

    await page.goto(`/console/approvals?approval=${id}`);
    await page.getByText("Nothing to decide").waitFor();
    await page.getByRole("dialog", { name: "refund_order" }).getByText("approved", { exact: true }).waitFor();
    await page.goto("/console/approvals?approval=apr_none");
    await page.getByText("No approval has the ID apr_none.").waitFor();
  });

  test("a member rejects a call with a reason, and its handler does not run", async () => {
    const before = ran.length;
    await ask("o-2");
    const page = await suite.open("/console/approvals");
    await page.locator("[data-row-link]").first().click();
    const panel = page.getByRole("dialog", { name: "refund_order" });
    await panel.getByLabel("Reason").fill("The order was not delivered.");
    await panel.getByRole("button", { name: "Reject" }).click();
    await page.getByText("Nothing to decide").waitFor();

    await page.goto("/console/approvals?status=rejected");
    await page.locator("[data-row-link]").first().click();
    await panel.getByRole("link", { name: /^run_/ }).click();
    // The panel, shown until the page of the run is loaded, has the reason too.
    await page.getByRole("treegrid", { name: "Waterfall" }).waitFor();
    await page.getByText("The order was not delivered.", { exact: false }).first().waitFor();
    expect(ran.length).toBe(before);
  });

  test("a test call that waits leads to its approval, from its page and from its run, which can be cancelled", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/functions/refund_order?role=agent`);
    await page.getByRole("textbox", { name: /order/ }).fill("o-4");
    await page.getByRole("textbox", { name: /amount/ }).fill("50");
    await page.getByRole("button", { name: /^Call as agent/ }).click();
    await page.getByRole("main").getByText("waiting", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Open approvals" }).click();
    await page.getByText('{"order":"o-4","amount":50}').waitFor();
    expect(await page.locator("[data-row-link]").count()).toBe(1);
    await page.goBack();
    await page.getByRole("main").getByText("waiting", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Open approvals" }).waitFor();
    expect(await page.getByRole("textbox", { name: /order/ }).inputValue()).toBe("o-4");
    expect(await page.getByRole("button", { name: /^Call as agent/ }).getAttribute("aria-disabled")).not.toBe("true");
    const form = await suite.open(page.url());
    await form.getByRole("main").getByText("waiting", { exact: true }).waitFor();
    await page.goto(`${suite.desk.agentPath}/runs?status=waiting`);
    await settled(page);
    await page.getByRole("checkbox", { name: /^Select the \d+ loaded runs?$/ }).click();
    await page.getByRole("button", { name: /^Cancel \d+ runs?$/ }).waitFor();
    await page.getByText('refund_order {"order":"o-4","amount":50}').click();

    const waterfall = page.getByRole("treegrid", { name: "Waterfall" });
    await waterfall.getByRole("row").filter({ hasText: "call of refund_order" }).getByText(", waiting").waitFor();
    await waterfall.getByRole("row", { name: /Function call refund_order/ }).click();
    const panel = page.getByRole("tabpanel", { name: "Overview" });
    await panel.getByText("waiting", { exact: true }).waitFor();
    expect(await page.getByText(/\brunning\b/).count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Open approvals" }).waitFor();
    expect(await page.getByText("No answer").count()).toBe(0);
    expect(
      await waterfall.evaluate(
        (grid: { scrollWidth: number; clientWidth: number }) => grid.scrollWidth > grid.clientWidth,
      ),
    ).toBe(false);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Cancel run" }).click();
    await page.locator("main").getByText("cancelled", { exact: true }).first().waitFor();
    expect(await page.getByRole("link", { name: "Open approvals" }).count()).toBe(0);
    await form.getByRole("main").getByText("failed", { exact: true }).waitFor();
    expect(await form.getByRole("button", { name: "Cancel call" }).count()).toBe(0);
  });

  test("the page of a function shows its title, tags, approval and cases", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/functions/refund_order?tab=cases`);
    for (const text of ["Refund an order", "money", "some calls need approval by manager, director"])
      await page.getByText(text, { exact: true }).waitFor();
    const small = page.getByRole("tabpanel").locator("dl > div").filter({ hasText: "small" });
    expect(await small.innerText()).toMatch(/agent\s+needs approval/);
    await expectAccessible(page);

    // The runtime does not report the arguments of cases.
    await page.getByRole("tab", { name: "Test call" }).click();
    await page.getByText(/^To call the owner’s cases from here, connect with/).waitFor();
  });

  test("a viewer reads approvals and cannot decide", async () => {
    await ask("o-3");
    const { page } = await suite.visit({ storageState: await memberState(suite.desk, suite.desk.orgId, "viewer") });
    await page.goto("/console/approvals");
    await page.locator("[data-row-link]").first().click();
    const panel = page.getByRole("dialog", { name: "refund_order" });
    expect(await panel.getByRole("button", { name: "Approve" }).getAttribute("aria-disabled")).toBe("true");
  });
});
