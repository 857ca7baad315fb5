import { expect, test } from "vitest";
import { describeConsole } from "./support/desk-console.ts";

describeConsole("service tokens in the console", {}, (suite) => {
  test("an owner creates a token with scopes, uses it and revokes it", async () => {
    const page = await suite.open("/console/settings");
    await page.getByText("No service tokens").waitFor();
    await page.getByRole("button", { name: "New service token" }).click();
    const form = page.getByRole("dialog", { name: "New service token" });
    const create = form.getByRole("button", { name: "Create service token" });
    expect(await create.isDisabled()).toBe(true);
    await form.getByLabel("Label").fill("terraform");
    await form.getByText("Manage agents").click();
    await create.click();
    const shown = page.getByRole("dialog", { name: "Your new service token" });
    await shown.getByRole("button", { name: "Show" }).click();
    const secret = await shown.getByLabel("Service token").innerText();
    await shown.getByRole("button", { name: "Done" }).click();

    const ask = async (path: string) => {
      const headers = { Authorization: `Bearer ${secret}` };
      return (await fetch(`${suite.desk.url}/api${path}`, { headers })).status;
    };
    expect([await ask("/agents"), await ask("/members")]).toEqual([200, 403]);
    const row = page.getByRole("table", { name: "Service tokens" }).getByRole("row", { name: /terraform/ });
    expect(await row.innerText()).toContain("agents:write");

    await row.getByRole("button", { name: "Change terraform" }).click();
    await page.getByRole("menuitem", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke service token" }).click();

    await row.getByText("revoked").waitFor();
    expect(await ask("/agents")).toBe(401);
  });
});
