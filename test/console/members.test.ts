import { expect, test } from "vitest";
import { visit } from "../support/browser.ts";
import { describeConsole } from "./support/desk-console.ts";

describeConsole("members in the console", {}, (suite) => {
  test("the set-up page names the organisation", async () => {
    const setUp = await suite.desk.admin.members.setUpLink({ replace: true });
    const { page } = await visit(suite.desk.url);
    await page.goto(setUp!.path);
    await page.getByText(/^You become the first owner of Test\. This link expires/).waitFor();
  });

  test("a pending link is listed with its author and stops working when it is withdrawn", async () => {
    const page = await suite.open("/console/members");
    await page.getByText("No pending links").waitFor();
    await page.getByRole("button", { name: "Invite a member" }).click();
    await page.getByLabel("E-mail").fill("vera@example.com");
    await page.getByRole("dialog").getByRole("button", { name: "Create invite link" }).click();
    const shown = page.getByRole("dialog", { name: "Link for vera@example.com" });
    await shown.getByRole("button", { name: "Show" }).click();
    const link = await shown.getByLabel("One-time link").innerText();
    await shown.getByRole("button", { name: "Done" }).click();

    const pending = page.getByRole("table", { name: "Pending links" }).getByRole("row", { name: /vera@example\.com/ });
    await pending.waitFor();
    expect(await pending.innerText()).toMatch(/vera@example\.com\s+joins as viewer\s+Developer\s/);
    await pending.getByRole("button", { name: "Withdraw the link for vera@example.com" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();

    await page.getByText("No pending links").waitFor();
    // Each of the two tables refetches by itself.
    await expect.poll(() => page.getByRole("table", { name: "Members" }).innerText()).not.toContain("vera@example.com");
    const { page: invitee } = await visit(suite.desk.url, { expects: [/^40[14] (GET|POST) \/api\//] });
    await invitee.goto(link);
    await invitee.getByRole("heading", { name: "This link does not work" }).waitFor();
  });

  test("an invitation to a member of another organisation shows the reason on its page", async () => {
    const { admin, orgId, url } = suite.desk;
    const email = "known@example.com";
    const invite = async (org: string) => admin.members.invite({ orgId: org, email, role: "viewer" });
    const home = await invite((await admin.createOrg("Other")).orgId);
    const { page } = await visit(url, { expects: [/^409 POST \/api\/links$/, /^401 GET \/api\/session$/] });
    await page.goto(home.path);
    await page.getByLabel("Your name").fill("Kim");
    await page.getByLabel("Password").fill("correct horse battery");
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();

    await page.goto((await invite(orgId)).path);

    await page.getByRole("heading", { name: "This link does not work" }).waitFor();
    await page.getByText("known@example.com signs in to another organisation of this service").waitFor();
  });
});
