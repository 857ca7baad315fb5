import { defineFunction, defineService } from "@patchbay/functions";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { hasBrowser, visit, type VisitOptions } from "../support/browser.ts";
import { startDeskConsole, type DeskConsole } from "./support/desk-console.ts";
import { expectAccessible, settled } from "./support/page-checks.ts";

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

describe.skipIf(!hasBrowser)("widened access in the console", { timeout: 60_000 }, () => {
  let desk: DeskConsole;
  let signedIn: NonNullable<VisitOptions["storageState"]>;
  beforeAll(async () => {
    desk = await startDeskConsole({ service: shop(["admin"]) });
    signedIn = await desk.signedInState();
  }, 60_000);
  afterAll(() => desk[Symbol.asyncDispose]());

  const callsOfGuest = async () => (await desk.query("Wipe the data", { role: "guest" })).toolInteractions;

  test("an owner lets functions that widen access wait, sees what they allow, and confirms them", async () => {
    const { page } = await visit(desk.url, { storageState: signedIn });
    await page.goto(`${desk.agentPath}/settings`);
    await settled(page);
    await page.getByLabel("Functions that widen access").click();
    await page.getByRole("option", { name: "Wait until a developer or an owner confirms them" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved", { exact: true }).waitFor();

    await desk.connect(shop(["admin", "guest"]), { deployment: "2026-11-22" });
    expect(await callsOfGuest()).toEqual([]);

    await page.goto(`${desk.agentPath}/access`);
    await settled(page);
    const table = page.getByRole("table", { name: "Deployments that widened access" });
    await table.getByText('wipe_data: role "guest" is added to the roles.').waitFor();
    await table.getByText("waits for a confirmation").waitFor();
    await expectAccessible(page);
    await table.getByRole("button", { name: "Confirm deployment 2026-11-22 of shop" }).click();
    const dialog = page.getByRole("dialog", { name: "Confirm deployment 2026-11-22 of shop?" });
    await dialog.getByText('wipe_data: role "guest" is added to the roles.').waitFor();
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await table.getByText(/^confirmed by /).waitFor();

    await expect.poll(callsOfGuest, { timeout: 20_000 }).toMatchObject([{ toolName: "wipe_data", success: true }]);
  });

  test("the page says why a service does not serve", async () => {
    await desk.admin.updateAgent(desk.agentId, { accessChanges: "follow" });
    const narrow = await desk.connect(shop(["admin"]), { deployment: "2026-11-23" });
    await narrow.stop();

    const { page } = await visit(desk.url, { storageState: signedIn });
    await page.goto(`${desk.agentPath}/access`);
    await settled(page);

    const reason = page.getByText(/^Queries do not get the functions of shop: .*2026-11-23/);
    await reason.waitFor();
    expect(await reason.innerText()).toContain('role "guest" is added to the roles');
  });
});
