import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { describeConsole } from "./support/desk-console.ts";
import { memberState } from "./support/members.ts";
import { choose, expectAccessible, settled } from "./support/page-checks.ts";

const shop = (roles: string[]) =>
  defineService({
    name: "shop",
    functions: [
      defineFunction({
        name: "wipe_data",
        description: "Wipes the data.",
        input: z.object({}),
        roles,
        handler: async () => "wiped",
      }),
    ],
  });

describeConsole("widened access in the console", { service: shop(["admin"]) }, (suite) => {
  const callsOfGuest = async () => (await suite.desk.query("Wipe the data", { role: "guest" })).toolInteractions;

  test("an owner holds back functions that widen access, reviews them, and confirms them", async () => {
    const { desk } = suite;
    const page = await suite.open(`${desk.agentPath}/settings`);
    await choose(page.getByLabel("Functions that widen access"), "Wait for confirmation by a developer or owner");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved", { exact: true }).waitFor();

    await desk.connect(shop(["admin", "guest"]), { deployment: "2026-11-22" });
    expect(await callsOfGuest()).toEqual([]);

    await page.goto(`${desk.agentPath}/runtimes`);
    const rowOf = (state: string) => page.getByRole("row").filter({ hasText: state });
    await rowOf("waiting for confirmation").getByText("2026-11-22").waitFor();
    expect(await rowOf("waiting for confirmation").count()).toBe(1);
    await expectAccessible(page);

    const banner = page.getByRole("region", { name: "Waiting for confirmation: deployment 2026-11-22 of shop" });
    await page.goto(desk.agentPath);
    await banner.getByText("guest gained wipe_data.").waitFor();
    await settled(page);
    await expectAccessible(page);
    await page.goto(`${desk.agentPath}/access`);
    await settled(page);
    await banner.getByRole("button", { name: "Confirm deployment 2026-11-22 of shop" }).waitFor();
    await page.getByRole("tab", { name: "Changes 1 waiting for confirmation" }).click();
    const table = page.getByRole("table", { name: "Deployments that widened access" });
    await table.getByText("guest gained wipe_data.").waitFor();
    await table.getByText("waiting for confirmation").waitFor();
    await expectAccessible(page);
    const viewer = await suite.open(`${desk.agentPath}/access?view=changes`, {
      storageState: await memberState(desk, desk.orgId, "viewer"),
    });
    const disabled = viewer.getByRole("button", { name: "Confirm deployment 2026-11-22 of shop" }).first();
    await disabled.waitFor();
    expect(await disabled.getAttribute("aria-disabled")).toBe("true");
    await banner.getByRole("button", { name: "Confirm deployment 2026-11-22 of shop" }).click();
    const dialog = page.getByRole("dialog", { name: "Confirm deployment 2026-11-22 of shop?" });
    await dialog.getByText("guest gained wipe_data.").waitFor();
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await table.getByText(/^confirmed by /).waitFor();
    await banner.waitFor({ state: "detached" });

    await expect.poll(callsOfGuest).toMatchObject([{ toolName: "wipe_data", success: true }]);
  });

  test("the page shows why a service receives no calls", async () => {
    const { desk } = suite;
    await desk.admin.updateAgent(desk.agentId, { accessChanges: "follow" });
    const narrow = await desk.connect(shop(["admin"]), { deployment: "2026-11-23" });
    await narrow.stop();

    const page = await suite.open(`${desk.agentPath}/access`);
    const reason = page.getByText(/^Queries do not use the functions of shop: .*2026-11-23/);
    await reason.waitFor();
    expect(await reason.innerText()).toContain("guest gained wipe_data");
  });
});
