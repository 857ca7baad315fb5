import { type CallContext, defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { describeConsole } from "./support/desk-console.ts";
import { expectAccessible } from "./support/page-checks.ts";

const begun: { context: CallContext; finish: (value: object) => void }[] = [];

const archive = defineFunction({
  name: "archive_orders",
  description: "Archives the orders.",
  input: z.object({}),
  roles: "everyone",
  detached: true,
  async handler(_, context) {
    const { promise, resolve, reject } = Promise.withResolvers<object>();
    context.signal.addEventListener("abort", () => reject(context.signal.reason as Error));
    begun.push({ context, finish: resolve });
    context.progress({ percent: 10 });
    return promise;
  },
});

describeConsole(
  "a run that waits for a detached function",
  { service: defineService({ name: "archive", functions: [archive] }) },
  (suite) => {
    test("names the function with its start and kept progress, in the list and on its page, which continues by itself", async () => {
      const answer = await suite.desk.query("archive orders");
      expect(answer).toMatchObject({ code: "call_running" });
      const call = begun.shift()!;
      const page = await suite.open(`${suite.desk.agentPath}/runs`, { viewport: { width: 1440, height: 900 } });
      await page.getByText(/^waiting for archive_orders since /).waitFor();
      await expectAccessible(page);
      await page.getByRole("link", { name: "archive orders" }).click();

      const row = page.getByRole("treegrid", { name: "Waterfall" }).getByRole("row", { name: /archive_orders/ });
      await row.getByText("percent: 10", { exact: true }).waitFor();
      await page.getByText("Waiting for a function:").waitFor();
      await page.getByText(/^archive_orders since .*: percent: 10$/).waitFor();
      expect(await page.getByText("Waiting for approval").count()).toBe(0);
      await row.click();
      await page.getByRole("region", { name: "Progress (1)" }).getByText("percent: 10").waitFor();
      await expectAccessible(page);

      call.context.progress({ percent: 60 });
      await page.getByText(/^archive_orders since .*: percent: 60$/).waitFor();
      call.finish({ orders: 7 });
      await page.getByText("Waiting for a function:").waitFor({ state: "detached" });
      await page.getByRole("status").getByText("succeeded").waitFor();
    });

    test("is cancelled from its page, which stops the handler", async () => {
      await suite.desk.query("archive orders");
      const call = begun.shift()!;
      const page = await suite.open(`${suite.desk.agentPath}/runs`);
      await page.getByRole("link", { name: "archive orders" }).first().click();
      await page.getByText("Waiting for a function:").waitFor();
      await page.getByRole("button", { name: "Cancel run" }).click();

      await expect.poll(() => call.context.signal.aborted).toBe(true);
      await page.getByText("No answer (cancelled)").waitFor();
    });
  },
);
