import { CONSOLE_ROLES, CONSOLE_ROUTES, type ConsoleRoute, type Needs } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { hashSecret } from "@patchbay/server/accounts/secret";
import { type Browser, failureOf, openConsole, PASSWORD } from "./support/open-console.ts";

const routes = Object.entries(CONSOLE_ROUTES) as [string, ConsoleRoute][];
const signedIn = routes.filter(([, { needs }]) => needs !== "public");
const at = (path: string) => `/api${path.replace(/:\w+/g, "unknown")}`;
const rank = (role: Needs) => (CONSOLE_ROLES as readonly Needs[]).indexOf(role);

test.each(signedIn)("%s is allowed only for its role and higher ones", async (name, { needs }) => {
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

test("a member without a password needs no confirmation", async () => {
  await using console = await openConsole();
  const { path } = await console.admin.members.signInLink(console.orgId);
  const browser = console.browser();
  await browser.ask("POST", "/api/links/open", { body: { link: path.split("#")[1] } });
  console.clock.advance(60 * 60_000);

  const invited = await browser.ask("POST", "/api/members", { body: { email: "a@example.com", role: "viewer" } });

  expect(invited.status).toBe(201);
});

test("an owner invites a member, whose link opens a session with that role", async () => {
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

test("a new role ends the member's sessions, and the next session has it", async () => {
  await using console = await openConsole();
  const { browser } = await console.member("owner");
  const other = await console.member("developer");

  const changed = await browser.ask("PATCH", `/api/members/${other.memberId}`, { body: { role: "viewer" } });

  expect(await changed.json()).toMatchObject({ memberId: other.memberId, role: "viewer" });
  expect((await other.browser.ask("GET", "/api/session")).status).toBe(401);
  expect(await (await other.browser.signIn(other.email)).json()).toMatchObject({ member: { role: "viewer" } });
});

test("an owner who changes their own role gets a new session", async () => {
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

test("the last owner who joined can neither be removed nor get another role", async () => {
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
    usageDays: 90,
  });
});

for (const [what, end] of [
  ["removed", (owner: Browser, memberId: string) => owner.ask("DELETE", `/api/members/${memberId}`)],
  [
    "made a viewer",
    (owner: Browser, memberId: string) => owner.ask("PATCH", `/api/members/${memberId}`, { body: { role: "viewer" } }),
  ],
] as const)
  test(`the links of an owner who is ${what} no longer work`, async () => {
    await using console = await openConsole();
    const alice = await console.member("owner", { email: "alice@example.com" });
    const mallory = await console.member("owner", { email: "mallory@example.com" });
    const made = [
      await mallory.browser.ask("POST", `/api/members/${alice.memberId}/link`),
      await mallory.browser.ask("POST", "/api/members", { body: { email: "sleeper@example.com", role: "owner" } }),
    ];
    const links = await Promise.all(made.map(async (one) => ((await one.json()) as { link: string }).link));

    expect((await end(alice.browser, mallory.memberId)).ok).toBe(true);

    for (const link of links) {
      const body = { link: new URL(link).hash.slice(1), name: "Not Alice", password: "mallory's password" };
      const accepted = await console.browser().ask("POST", "/api/links/accept", { body });
      expect(await failureOf(accepted)).toEqual([404, "not_found"]);
    }
    expect((await alice.browser.ask("GET", "/api/session")).status).toBe(200);
  });

test("a new password ends the links that the member made before", async () => {
  await using console = await openConsole();
  const { browser } = await console.member("owner");
  await browser.ask("POST", "/api/members", { body: { email: "new@example.com", role: "viewer" } });
  const password = { current: PASSWORD, next: "another good password" };

  expect((await browser.ask("PATCH", "/api/account", { body: { password } })).status).toBe(200);

  expect(await (await browser.ask("GET", "/api/links")).json()).toEqual({ items: [], nextCursor: null });
});

test("a session that ended while a link was made does not receive its secret", async () => {
  await using console = await openConsole();
  const { signIn } = console.store;
  const { browser } = await console.member("owner");
  const invite = signIn.invite.bind(signIn);
  const session = hashSecret(browser.cookie.split("=")[1] ?? "");
  signIn.invite = async (invitation) => {
    const made = await invite(invitation);
    await signIn.closeSession(session);
    return made;
  };

  const answer = await browser.ask("POST", "/api/members", { body: { email: "new@example.com", role: "owner" } });

  expect(answer.status).toBe(401);
  expect(await answer.text()).not.toContain("/console/link#");
});

test("pending links show member, author and expiry, and an owner withdraws them", async () => {
  await using console = await openConsole();
  const { browser, memberId } = await console.member("owner");
  const viewer = await console.member("viewer");
  const invited = await browser.ask("POST", "/api/members", { body: { email: "new@example.com", role: "viewer" } });
  const { member, link } = (await invited.json()) as { member: { memberId: string }; link: string };
  console.clock.advance(1);
  await console.admin.members.link(console.orgId, viewer.memberId);

  const pending = await (await viewer.browser.ask("GET", "/api/links")).json();

  const now = console.clock.now();
  expect(pending).toEqual({
    items: [
      {
        member: expect.objectContaining({ memberId: viewer.memberId, active: true }),
        createdBy: null,
        createdAt: new Date(now).toISOString(),
        expiresAt: new Date(now + 3_600_000).toISOString(),
      },
      {
        member: expect.objectContaining({ email: "new@example.com", active: false }),
        createdBy: { memberId, name: "owner", email: "owner@example.com" },
        createdAt: new Date(now - 1).toISOString(),
        expiresAt: new Date(now - 1 + 7 * 86_400_000).toISOString(),
      },
    ],
    nextCursor: null,
  });
  expect(JSON.stringify(pending)).not.toContain("hash");
  const withdraw = () => browser.ask("DELETE", `/api/members/${member.memberId}/link`);
  expect((await withdraw()).status).toBe(204);
  const opened = await console.browser().ask("POST", "/api/links", { body: { link: link.split("#")[1] } });
  expect(opened.status).toBe(404);
  expect(await failureOf(await withdraw())).toEqual([404, "not_found"]);
  expect((await console.admin.listAdministration(console.orgId, { action: "member" })).items[0]).toMatchObject({
    action: "member.link_withdrawn",
    keyId: memberId,
  });
  const none = await browser.ask("DELETE", `/api/members/${memberId}/link`);
  expect(await failureOf(none)).toEqual([409, "conflict"]);
});

test("the response to an invitation does not depend on members elsewhere, and blocks no member", async () => {
  await using console = await openConsole();
  const { orgId: org } = await console.admin.createOrg("Other");
  const here = await console.member("owner", { email: "known@example.com" });
  const there = await console.member("owner", { email: "there@example.com", org });
  const invite = (browser: Browser, email: string) =>
    browser.ask("POST", "/api/members", { body: { email, name: "New", role: "viewer" } });

  const known = await invite(there.browser, "known@example.com");
  const unknown = await invite(there.browser, "unknown@example.com");

  expect([known.status, unknown.status]).toEqual([201, 201]);
  const shape = async (answer: Response) => {
    const { member, ...invitation } = (await answer.json()) as { member: Record<string, unknown>; link: string };
    return { ...invitation, link: invitation.link.length, member: { ...member, memberId: "", email: "" } };
  };
  expect(await shape(known)).toEqual(await shape(unknown));
  expect((await invite(here.browser, "unknown@example.com")).status).toBe(201);
  expect((await here.browser.signIn("known@example.com")).status).toBe(200);
});
