import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { sampleCall, sampleRun } from "../../packages/store/test/contract/world.ts";
import { deliveredOrder } from "../support/retail.ts";
import { describeConsole } from "./support/desk-console.ts";
import { expectAccessible } from "./support/page-checks.ts";

const bank = defineService({
  name: "bank",
  flows: { mode: "report" },
  functions: [
    defineFunction({
      name: "pay_bill",
      description: "Pays an account.",
      input: z.object({ account: z.string() }),
      roles: ["user"],
      effect: "destructive",
      targets: { account: "caller" },
      handler: () => null,
    }),
  ],
});

describeConsole("data-flow rules in the console", { service: bank }, (suite) => {
  test("Access counts the calls that the rules did not allow, and leads to the newest run", async () => {
    const { store, orgId, agentId, agentPath } = suite.desk;
    const run = sampleRun({ orgId, agentId });
    await store.runs.start(run);
    const flowFault = { rule: "target", member: "account" } as const;
    const paid = { functionName: "pay_bill", outcome: { ok: true, value: null, flowFault } } as const;
    await store.runs.commit({ runId: run.runId, fence: 1 }, { calls: [sampleCall("call_1", paid)] });

    const page = await suite.open(`${agentPath}/access`);

    const faults = page.getByRole("list", { name: "Not allowed by data-flow rules" });
    expect(await faults.innerText()).toMatch(/pay_bill\s+target: 1 call/);
    expect(await faults.getByRole("link").getAttribute("href")).toContain(run.runId);
    await expectAccessible(page);
  });
});

describeConsole("labels on a run's page", {}, (suite) => {
  test("the waterfall names a call's labels, and its output says which fields they are on and which are removed", async () => {
    const { orderId, ownerId } = deliveredOrder;
    const { runId } = await suite.desk.query(`Which messages are there about order ${orderId}?`, {
      role: "customer",
      contextJson: JSON.stringify({ customerId: ownerId }),
    });

    const page = await suite.open(`${suite.desk.agentPath}/runs/${runId}`);
    await page.getByRole("row", { name: /get_order_messages.*untrusted, fields removed/ }).click();
    await page.getByRole("tab", { name: "Output" }).click();

    await page.getByText("Strangers can write: messages[].text").waitFor();
    await page.getByText("Fields removed for this role: notes").waitFor();
    await expectAccessible(page);
  });
});
