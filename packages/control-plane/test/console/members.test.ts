import { CONSOLE_ROLES, CONSOLE_ROUTES, type ConsoleRoute, type Needs } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { failureOf, openConsole } from "./support/open-console.ts";

const routes = Object.entries(CONSOLE_ROUTES) as [string, ConsoleRoute][];
const signedIn = routes.filter(([, { needs }]) => needs !== "nobody");
const at = (path: string) => `/api${path.replace(/:\w+/g, "unknown")}`;
const rank = (role: Needs) => (CONSOLE_ROLES as readonly Needs[]).indexOf(role);

test.each(signedIn)("%s is for members of its role and higher ones alone", async (name, { needs }) => {
  await using console = await openConsole();
  const [method = "", path = ""] = name.split(" ");
  expect(await failureOf(await console.browser().ask(method, at(path)))).toEqual([401, "authentication_failed"]);

  for (const role of CONSOLE_ROLES.filter((one) => rank(one) < rank(needs))) {
    const { browser } = await console.member(role);
    expect(await failureOf(await browser.ask(method, at(path)))).toEqual([403, "console_role_required"]);
  }
});

test.each(routes.filter(([, { confirmed }]) => confirmed))(
  "%s wants the password given in the last 15 minutes",
  async (name, { needs }) => {
    await using console = await openConsole();
    const { browser } = await console.member(needs as "owner");
    const [method = "", path = ""] = name.split(" ");
    const asked = async () => failureOf(await browser.ask(method, at(path), { body: {} }));
    console.clock.advance(15 * 60_000 - 1);
    expect(await asked()).not.toContain("confirmation_required");

    console.clock.advance(1);

    expect(await asked()).toEqual([403, "confirmation_required"]);
  },
);

test("whoever has no password is asked for none", async () => {
  await using console = await openConsole();
  const { path } = await console.admin.members.signInLink(console.orgId);
  const browser = console.browser();
  await browser.ask("POST", "/api/links/open", { body: { link: path.split("#")[1] } });
  console.clock.advance(60 * 60_000);

  const invited = await browser.ask("POST", "/api/members", { body: { email: "a@example.com", role: "viewer" } });

  expect(invited.status).toBe(201);
});

test("an owner invites a member, whose link leads to a session of that role", async () => {
  await using console = await openConsole();
  const { browser, memberId } = await console.member("owner");
  const body = { email: "New@Example.com", name: "New", role: "developer" };

  const invited = await browser.ask("POST", "/api/members", { body });
  const { member, link } = (await invited.json()) as { member: { memberId: string }; link: string };

  expect(member).toMatchObject({ email: "new@example.com", name: "New", role: "developer", active: false });
  expect(link).toMatch(/^http:\/\/localhost:8787\/console\/link#/);
  const newcomer = console.browser();
  const accepted = { link: new URL(link).hash.slice(1), name: "Newcomer", password: "a long enough one" };
  await newcomer.ask("POST", "/api/links/accept", { body: accepted });
  expect(await (await newcomer.ask("GET", "/api/session")).json()).toMatchObject({
    member: { memberId: member.memberId, name: "Newcomer", role: "developer" },
  });
  expect(await failureOf(await browser.ask("POST", "/api/members", { body }))).toEqual([409, "conflict"]);
  const { items } = await console.admin.listAdministration(console.orgId, { action: "member" });
  expect(items.map(({ action, keyId }) => [action, keyId])).toEqual([
    ["member.joined", member.memberId],
    ["member.invited", memberId],
    ["member.joined", memberId],
    ["member.invited", undefined],
  ]);
});

test("another role ends the member's sessions, and the next one has it", async () => {
  await using console = await openConsole();
  const { browser } = await console.member("owner");
  const other = await console.member("developer");

  const changed = await browser.ask("PATCH", `/api/members/${other.memberId}`, { body: { role: "viewer" } });

  expect(await changed.json()).toMatchObject({ memberId: other.memberId, role: "viewer" });
  expect((await other.browser.ask("GET", "/api/session")).status).toBe(401);
  expect(await (await other.browser.signIn(other.email)).json()).toMatchObject({ member: { role: "viewer" } });
});

test("an owner who takes another role goes on with a new session of it", async () => {
  await using console = await openConsole();
  const { browser, memberId } = await console.member("owner");
  await console.member("owner", { email: "second@example.com" });
  const before = browser.cookie;

  expect((await browser.ask("PATCH", `/api/members/${memberId}`, { body: { role: "viewer" } })).status).toBe(200);

  expect(browser.cookie).not.toBe(before);
  expect(await (await browser.ask("GET", "/api/session")).json()).toMatchObject({ member: { role: "viewer" } });
});

test("a removed member's sessions end, and the address may be invited again", async () => {
  await using console = await openConsole();
  const { browser } = await console.member("owner");
  const gone = await console.member("developer");

  expect((await browser.ask("DELETE", `/api/members/${gone.memberId}`)).status).toBe(204);

  expect((await gone.browser.ask("GET", "/api/session")).status).toBe(401);
  expect((await gone.browser.signIn(gone.email)).status).toBe(401);
  expect(await failureOf(await browser.ask("DELETE", `/api/members/${gone.memberId}`))).toEqual([404, "not_found"]);
  const again = await browser.ask("POST", "/api/members", { body: { email: gone.email, role: "viewer" } });
  expect(again.status).toBe(201);
});

test("the last owner who has come in can neither be removed nor get another role", async () => {
  await using console = await openConsole();
  const { browser, memberId } = await console.member("owner");
  await console.admin.members.invite({ orgId: console.orgId, email: "not-yet@example.com", role: "owner" });
  const demote = () => browser.ask("PATCH", `/api/members/${memberId}`, { body: { role: "developer" } });

  expect(await failureOf(await demote())).toEqual([409, "conflict"]);
  expect(await failureOf(await browser.ask("DELETE", `/api/members/${memberId}`))).toEqual([409, "conflict"]);

  await console.member("owner", { email: "second@example.com" });
  expect((await demote()).status).toBe(200);
});

test("members are read page by page", async () => {
  await using console = await openConsole();
  const { browser } = await console.member("viewer");
  for (const name of ["b", "c"])
    await console.admin.members.invite({ orgId: console.orgId, email: `${name}@example.com`, role: "viewer" });
  const page = async (query: string) =>
    (await (await browser.ask("GET", `/api/members?limit=2${query}`)).json()) as {
      items: { email: string }[];
      nextCursor: string | null;
    };

  const first = await page("");
  const second = await page(`&cursor=${first.nextCursor}`);

  expect([...first.items, ...second.items].map(({ email }) => email).toSorted()).toEqual([
    "b@example.com",
    "c@example.com",
    "viewer@example.com",
  ]);
  expect(second.nextCursor).toBeNull();
  expect((await browser.ask("GET", "/api/members?limit=0")).status).toBe(400);
});

test("the organisation is shown with its limits, and renamed by an owner", async () => {
  await using console = await openConsole();
  const { browser } = await console.member("owner");

  const renamed = await browser.ask("PATCH", "/api/organisation", { body: { name: "Acme Ltd" } });

  expect(await renamed.json()).toEqual({
    orgId: console.orgId,
    name: "Acme Ltd",
    tier: "sandbox",
    queriesPerMinute: null,
    charged: false,
    balanceUsd: 0,
    agents: 0,
    members: 1,
    createdAt: new Date(console.clock.now()).toISOString(),
    retentionDays: 30,
    auditDays: 365,
  });
});
