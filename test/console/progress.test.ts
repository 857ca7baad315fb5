import { type CallContext, defineFunction, defineService } from "@patchbay/functions";
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { z } from "zod";
import { describeConsole } from "./support/desk-console.ts";
import { expectAccessible } from "./support/page-checks.ts";

/** The calls in progress, in the order in which their handlers began. */
const begun: { context: CallContext; finish: (value: object) => void }[] = [];
let announce: (() => void) | undefined;

const slowReport = defineFunction({
  name: "slow_report",
  description: "Writes the slow report.",
  input: z.object({}),
  roles: "everyone",
  effect: "read",
  async handler(_, context) {
    const { promise, resolve, reject } = Promise.withResolvers<object>();
    context.signal.addEventListener("abort", () => reject(context.signal.reason as Error));
    begun.push({ context, finish: resolve });
    announce?.();
    return promise;
  },
});
const service = defineService({ name: "reports", functions: [slowReport] });

async function nextCall() {
  if (begun.length === 0) await new Promise<void>((resolve) => (announce = resolve));
  return begun.shift()!;
}

/** Whether the row of a text is too narrow for it. */
const isCut = (text: Locator) =>
  text.evaluate((element: unknown) => {
    interface Box {
      scrollWidth: number;
      clientWidth: number;
      closest(selector: string): Box | null;
    }
    const box = (element as Box).closest(".truncate");
    return box !== null && box.scrollWidth > box.clientWidth;
  });

describeConsole("the progress of a call", { service }, (suite) => {
  const path = () => `${suite.desk.agentPath}/functions/slow_report`;
  const elapsed = (page: Page) => page.getByRole("timer", { name: "Elapsed" });

  test("shows in a test call with the elapsed time, until its result replaces it", async () => {
    const page = await suite.open(path());
    await page.getByRole("button", { name: "Call without a role" }).click();
    const call = await nextCall();
    call.context.progress({ percent: 50 });

    await page.getByRole("region", { name: "Progress (1)" }).getByText("percent: 50").waitFor();
    expect(await elapsed(page).innerText()).toMatch(/\d (ms|s)$/);
    await expectAccessible(page);
    call.finish({ pages: 7 });

    await page.getByRole("region", { name: "Value returned" }).getByText("pages").waitFor();
    await elapsed(page).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Open run" }).click();
    await page.getByRole("treegrid", { name: "Waterfall" }).waitFor();
  });

  test("a test call is cancelled from its page", async () => {
    const page = await suite.open(path());
    await page.getByRole("button", { name: "Call without a role" }).click();
    const call = await nextCall();
    await page.getByRole("button", { name: "Cancel call" }).click();

    await page.getByText("cancelled", { exact: true }).first().waitFor();
    await expect.poll(() => call.context.signal.aborted).toBe(true);
    await elapsed(page).waitFor({ state: "detached" });
  });

  test("shows on the run page at its call, in the panel and under Answer", async () => {
    const answer = suite.desk.query("slow report");
    // A test that fails before it awaits the answer leaves no unhandled rejection.
    answer.catch(() => {});
    const call = await nextCall();
    const page = await suite.open(`${suite.desk.agentPath}/runs`, { viewport: { width: 1440, height: 900 } });
    // Progress is sent to those who follow the run, and not stored.
    const following = page.waitForResponse(/\/events$/);
    await page.getByRole("link", { name: "slow report" }).click();
    // The runs list, shown until the page of the run is loaded, has rows of this function too.
    const waterfall = page.getByRole("treegrid", { name: "Waterfall" });
    const row = waterfall.getByRole("row", { name: /slow_report/ });
    await row.click();
    await page.getByText("Running… Calling slow_report.").waitFor();
    await following;
    call.context.progress({ percent: 50 });
    call.context.progress({ percent: 80 });

    const report = row.getByText("percent: 80", { exact: true });
    await report.waitFor();
    expect(await isCut(report)).toBe(false);
    await page.getByText("Running… Calling slow_report: percent: 80").waitFor();
    const reports = page.getByRole("region", { name: "Progress (2)" });
    await reports.getByText("percent: 80").waitFor();
    expect(await reports.locator("time").first().innerText()).toMatch(/^\d\d:\d\d:\d\d$/);
    await expectAccessible(page);
    await reports.getByText("Earlier reports").click();
    await reports.getByRole("list", { name: "Earlier reports" }).getByText("percent: 50").waitFor();
    call.finish({ pages: 7 });
    await answer;

    await expect.poll(() => page.getByText(/Running…/).count()).toBe(0);
    await row.getByText("percent").first().waitFor({ state: "detached" });
  });
});
