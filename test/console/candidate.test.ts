import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { describeConsole } from "./support/desk-console.ts";
import { expectAccessible, settled } from "./support/page-checks.ts";

const ran: string[] = [];

const shop = (roles: string[], name: string) =>
  defineService({
    name: "shop",
    functions: [
      defineFunction({
        name: "wipe_data",
        description: "Wipes the data.",
        input: z.object({}),
        roles,
        handler: () => void ran.push(name),
      }),
    ],
  });

describeConsole("a candidate in the console", { service: shop(["admin"], "runtime") }, (suite) => {
  test("a connected candidate is asked about real calls, receives none, and Access shows how it decides", async () => {
    const { desk } = suite;
    const page = await suite.open(`${desk.agentPath}/access`);
    await settled(page);
    await page.getByRole("tab", { name: "Candidate" }).click();
    await page.getByText("No candidate has connected").waitFor();
    const candidate = await desk.connect(shop(["guest"], "candidate"), { shadow: true });

    const { toolInteractions, runId } = await desk.query("Wipe the data", { role: "admin" });

    expect(toolInteractions).toMatchObject([{ toolName: "wipe_data", success: true }]);
    const differences = page.getByRole("list", { name: "Differences" });
    await differences.getByText("wipe_data by admin: allowed → denied (roles)").waitFor();
    await expectAccessible(page);
    expect(await differences.getByRole("link").getAttribute("href")).toContain(runId);
    expect(ran).toEqual(["runtime"]);
    await candidate.stop();
    await page.getByText("not connected", { exact: true }).waitFor();
  });
});
