import { expect, test } from "vitest";
import { sqlitePlace } from "../../store/test/sqlite-place.ts";
import { failureOf, openConsole, PASSWORD } from "./support/open-console.ts";

const DAY_MS = 86_400_000;
const NOT_FOUND = [404, "not_found"];

const secretOf = ({ path }: { path: string }) => path.split("#")[1];
const owner = (link: string | undefined) => ({
  body: { link, name: "Ann", email: "Ann@example.com", password: PASSWORD, organisation: "Mine" },
});

test("a set-up link creates the owner of the existing organisation, and works once", async () => {
  await using console = await openConsole();
  const browser = console.browser();
  const link = secretOf((await console.admin.members.setUpLink({ replace: true }))!);

  const offer = await browser.ask("POST", "/api/links", { body: { link } });
  expect(await offer.json()).toEqual({
    kind: "setup",
    email: null,
    organisation: "Acme",
    expiresAt: new Date(console.clock.now() + DAY_MS).toISOString(),
  });
  const accepted = await browser.ask("POST", "/api/links/accept", owner(link));
  expect(await accepted.json()).toMatchObject({
    member: { email: "ann@example.com", role: "owner", hasPassword: true },
    organisation: { orgId: console.orgId, name: "Acme" },
  });
  expect(await failureOf(await console.browser().ask("POST", "/api/links/accept", owner(link)))).toEqual(NOT_FOUND);
  expect(await console.admin.members.setUpLink({ replace: true })).toBeUndefined();
});

test("when two clients accept one link at the same time, one succeeds", async () => {
  await using console = await openConsole();
  const link = secretOf((await console.admin.members.setUpLink({ replace: true }))!);
  const accept = (email: string) =>
    console.browser().ask("POST", "/api/links/accept", { body: { ...owner(link).body, email } });

  const answers = await Promise.all([accept("a@example.com"), accept("b@example.com")]);

  expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(["200", "404"]);
  expect((await console.admin.members.list(console.orgId)).items).toHaveLength(1);
});

test("set-up requires an e-mail address", async () => {
  await using console = await openConsole();
  const link = secretOf((await console.admin.members.setUpLink({ replace: true }))!);
  const { email: _email, ...body } = owner(link).body;

  const refused = await console.browser().ask("POST", "/api/links/accept", { body });

  expect(await refused.json()).toMatchObject({ code: "invalid_request", details: [{ path: "email" }] });
  expect((await console.browser().ask("POST", "/api/links/accept", owner(link))).status).toBe(200);
});

test("a set-up link is invalid after the first invitation, and with several organisations", async () => {
  await using console = await openConsole();
  const link = secretOf((await console.admin.members.setUpLink({ replace: true }))!);
  const inspect = () => console.browser().ask("POST", "/api/links", { body: { link } });
  const { orgId } = await console.admin.createOrg("Other");
  expect(await failureOf(await inspect())).toEqual([409, "conflict"]);
  expect(await console.admin.members.setUpLink({ replace: true })).toBeUndefined();

  await console.admin.members.invite({ orgId, email: "x@example.com", role: "owner" });

  expect(await failureOf(await inspect())).toEqual(NOT_FOUND);
});

test("an invitation expires after 7 days, a set-up link after 1, a password link after 1 hour, a development link after 10 minutes", async () => {
  await using unused = await openConsole();
  await using console = await openConsole();
  const { admin, clock, orgId } = console;
  const { member: newcomer } = await admin.members.invite({ orgId, email: "new@example.com", role: "viewer" });
  const inspect = async (link: { path: string }) =>
    (await console.browser().ask("POST", "/api/links", { body: { link: secretOf(link) } })).status;
  const lives = [
    { make: () => admin.members.signInLink(orgId), ms: 10 * 60_000 },
    { make: () => admin.members.invite({ orgId, email: "x@example.com", role: "viewer" }), ms: 7 * DAY_MS },
    { make: () => admin.members.link(orgId, newcomer.memberId), ms: 7 * DAY_MS },
    { make: async () => admin.members.link(orgId, (await console.member("viewer")).memberId), ms: 60 * 60_000 },
  ];

  const setUp = await unused.admin.members.setUpLink({ replace: true });
  expect(setUp?.expiresAt).toBe(new Date(unused.clock.now() + DAY_MS).toISOString());
  for (const { make, ms } of lives) {
    const link = await make();
    clock.advance(ms - 1);
    expect(await inspect(link)).toBe(200);
    clock.advance(1);
    expect(await inspect(link)).toBe(404);
  }
});

test("a new link for a member replaces the first, and its acceptance ends the member's sessions", async () => {
  await using console = await openConsole();
  const { browser, memberId, email } = await console.member("developer");
  const [first, second] = [
    await console.admin.members.link(console.orgId, memberId),
    await console.admin.members.link(console.orgId, memberId),
  ];
  const accept = (link: { path: string }) =>
    console.browser().ask("POST", "/api/links/accept", {
      body: { link: secretOf(link), name: "Dev", password: "another good password" },
    });
  expect(await failureOf(await accept(first))).toEqual(NOT_FOUND);
  expect((await browser.ask("GET", "/api/session")).status).toBe(200);

  expect((await accept(second)).status).toBe(200);

  expect((await browser.ask("GET", "/api/session")).status).toBe(401);
  expect((await console.browser().signIn(email)).status).toBe(401);
  expect((await console.browser().signIn(email, "another good password")).status).toBe(200);
});

test("an invitation to an address of another organisation works only after that membership ends", async () => {
  await using console = await openConsole();
  const { admin, orgId } = console;
  const { memberId, email } = await console.member("viewer");
  const other = await admin.createOrg("Other");
  const link = secretOf(await admin.members.invite({ orgId: other.orgId, email, role: "viewer" }));
  const inspect = () => console.browser().ask("POST", "/api/links", { body: { link } });
  const accept = () =>
    console.browser().ask("POST", "/api/links/accept", { body: { link, name: "Vi", password: PASSWORD } });

  expect(await failureOf(await inspect())).toEqual([409, "conflict"]);
  expect(await failureOf(await accept())).toEqual([409, "conflict"]);
  expect(await (await console.browser().signIn(email)).json()).toMatchObject({ organisation: { orgId } });

  await admin.members.remove(orgId, memberId);
  expect((await inspect()).status).toBe(200);
  expect(await (await accept()).json()).toMatchObject({ organisation: { orgId: other.orgId } });
});

test("a development link signs in only in development", async () => {
  for (const local of [true, false]) {
    await using console = await openConsole({ local });
    const link = secretOf(await console.admin.members.signInLink(console.orgId));
    const opened = await console.browser().ask("POST", "/api/links/open", { body: { link } });
    expect(opened.status).toBe(local ? 200 : 404);
  }
});

for (const kind of ["invitation", "development link"] as const) {
  test(`of several clients that use one ${kind} at the same time, exactly one succeeds, and none later`, async () => {
    await using console = await openConsole({ local: true });
    const { memberId } = await console.member("developer");
    const invited = kind === "invitation";
    const { orgId, admin } = console;
    const link = secretOf(invited ? await admin.members.link(orgId, memberId) : await admin.members.signInLink(orgId));
    const follow = async () => {
      const body = invited ? { link, name: "Dev", password: "another good password" } : { link };
      const path = `/api/links/${invited ? "accept" : "open"}`;
      return (await console.browser().ask("POST", path, { body })).status;
    };

    const together = await Promise.all([follow(), follow(), follow()]);

    expect(together.map(String).toSorted()).toEqual(["200", "404", "404"]);
    expect(await follow()).toBe(404);
    expect((await console.browser().ask("POST", "/api/links", { body: { link } })).status).toBe(404);
  });
}

test("a link that requires a password does not sign in without one", async () => {
  await using console = await openConsole();
  const link = secretOf((await console.admin.members.setUpLink({ replace: true }))!);
  const browser = console.browser();

  expect((await browser.ask("POST", "/api/links/open", { body: { link } })).status).toBe(400);
  expect(browser.cookie).toBe("");
});

test("the database contains neither secrets of links and sessions nor passwords", async () => {
  await using console = await openConsole();
  const { store, orgId, admin } = console;
  const { path, member } = await admin.members.invite({ orgId, email: "x@example.com", role: "viewer" });
  const link = secretOf({ path })!;
  const browser = console.browser();
  await browser.ask("POST", "/api/links/accept", { body: { link, name: "X", password: PASSWORD } });
  const secret = browser.cookie.split("=")[1]!;

  const stored = await store.members.byId(member.memberId);
  expect(stored?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  for (const text of [secret, link]) {
    expect(await store.signIn.session(text)).toBeUndefined();
    expect(await store.signIn.link(text)).toBeUndefined();
  }
});

test("a session without a password ends in production", async () => {
  await using place = await sqlitePlace();
  await using dev = await openConsole({}, place.url);
  const { path } = await dev.admin.members.signInLink(dev.orgId);
  const developer = dev.browser();
  await developer.ask("POST", "/api/links/open", { body: { link: path.split("#")[1] } });
  await using served = await openConsole({ local: false }, place.url);
  const later = served.browser();
  later.cookie = developer.cookie;

  expect((await developer.ask("GET", "/api/session")).status).toBe(200);
  expect(await failureOf(await later.ask("GET", "/api/session"))).toEqual([401, "authentication_failed"]);
});
