import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, visit, type VisitOptions } from "../support/browser.ts";
import { startDeskConsole, type DeskConsole } from "./support/desk-console.ts";
import { settled } from "./support/page-checks.ts";

describe.skipIf(!hasBrowser)("members in the console", { timeout: 60_000 }, () => {
  let desk: DeskConsole;
  let signedIn: NonNullable<VisitOptions["storageState"]>;
  beforeAll(async () => {
    desk = await startDeskConsole();
    signedIn = await desk.signedInState();
  }, 60_000);
  afterAll(() => desk[Symbol.asyncDispose]());

  async function openMembers(): Promise<Page> {
    const { page } = await visit(desk.url, { storageState: signedIn });
    await page.goto("/console/members");
    await settled(page);
    return page;
  }

  test("a pending link is listed with its author, and no longer works once it is withdrawn", async () => {
    const page = await openMembers();
    await page.getByText("No pending links").waitFor();
    await page.getByRole("button", { name: "Invite a member" }).click();
    await page.getByLabel("E-mail").fill("vera@example.com");
    await page.getByRole("dialog").getByRole("button", { name: "Make the link" }).click();
    const shown = page.getByRole("dialog", { name: "A link for vera@example.com" });
    await shown.getByRole("button", { name: "Show" }).click();
    const link = await shown.getByLabel("One-time link").innerText();
    await shown.getByRole("button", { name: "Done" }).click();

    const pending = page.getByRole("table", { name: "Pending links" }).getByRole("row", { name: /vera@example\.com/ });
    await pending.waitFor();
    expect(await pending.innerText()).toMatch(/vera@example\.com\s+joins as viewer\s+Developer\s/);
    await pending.getByRole("button", { name: "Withdraw the link for vera@example.com" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();

    await page.getByText("No pending links").waitFor();
    expect(await page.getByRole("table", { name: "Members" }).innerText()).not.toContain("vera@example.com");
    const { page: holder } = await visit(desk.url, { expects: [/^40[14] (GET|POST) \/api\//] });
    await holder.goto(link);
    await holder.getByRole("heading", { name: "This link does not work" }).waitFor();
  });

  test("a person whose address signs in to another organisation reads so on the link's page", async () => {
    const { admin, orgId } = desk;
    const email = "known@example.com";
    const invite = async (org: string) => admin.members.invite({ orgId: org, email, role: "viewer" });
    const home = await invite((await admin.createOrg("Other")).orgId);
    const { page } = await visit(desk.url, { expects: [/^409 POST \/api\/links$/, /^401 GET \/api\/session$/] });
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
