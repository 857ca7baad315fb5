import { expect, test } from "vitest";
import { failureOf, openConsole, PASSWORD } from "./support/open-console.ts";

const HOUR_MS = 3_600_000;

test("a member signs in by password, uses the session cookie, and signs out", async () => {
  await using console = await openConsole();
  const { email, memberId } = await console.member("developer");
  const browser = console.browser();

  const session = await browser.signIn(" Developer@Example.com ".trim());

  expect(session.status).toBe(200);
  const shown = await session.json();
  expect(shown).toMatchObject({
    member: { memberId, email, role: "developer", hasPassword: true },
    organisation: { name: "Acme", tier: "sandbox" },
    baseUrl: "http://localhost:8787",
  });
  expect(JSON.stringify(shown)).not.toContain("argon2");
  expect(session.headers.get("Cache-Control")).toBe("no-store");
  expect((await browser.ask("GET", "/api/session")).status).toBe(200);
  const { cookie } = browser;
  expect((await browser.ask("DELETE", "/api/session")).status).toBe(204);
  expect(browser.cookie).toBe("");
  browser.cookie = cookie;
  expect(await failureOf(await browser.ask("GET", "/api/session"))).toEqual([401, "authentication_failed"]);
});

test("a wrong password and an unknown address get the same response", async () => {
  await using console = await openConsole();
  const { email } = await console.member("viewer");
  const answers = [await console.browser().signIn(email, "wrong"), await console.browser().signIn("no@example.com")];

  const bodies = await Promise.all(answers.map(async (one) => (await one.json()) as Record<string, string>));

  expect(answers.map(({ status }) => status)).toEqual([401, 401]);
  expect(answers.map(({ headers }) => headers.get("Set-Cookie"))).toEqual([null, null]);
  const [wrong, unknown] = bodies.map(({ requestId: _id, ...body }) => body);
  expect(wrong).toEqual(unknown);
});

test("an invited member has no password to sign in with", async () => {
  await using console = await openConsole();
  await console.admin.members.invite({ orgId: console.orgId, email: "new@example.com", role: "owner" });

  expect((await console.browser().signIn("new@example.com", "")).status).toBe(400);
  expect((await console.browser().signIn("new@example.com", "anything")).status).toBe(401);
});

test("a session ends after 12 hours without a request", async () => {
  await using console = await openConsole();
  const { browser } = await console.member("viewer");
  const stillThere = async () => (await browser.ask("GET", "/api/session")).status === 200;

  console.clock.advance(12 * HOUR_MS - 1);
  expect(await stillThere()).toBe(true);
  console.clock.advance(12 * HOUR_MS - 1);
  expect(await stillThere()).toBe(true);
  console.clock.advance(12 * HOUR_MS);
  expect(await stillThere()).toBe(false);
});

test("a session ends after 7 days, also when it is used and confirmed", async () => {
  await using console = await openConsole();
  const { browser } = await console.member("viewer");
  for (let hours = 0; hours < 7 * 24 - 8; hours += 8) {
    console.clock.advance(8 * HOUR_MS);
    expect((await browser.ask("GET", "/api/session")).status).toBe(200);
  }
  expect((await browser.ask("POST", "/api/session/confirm", { body: { password: PASSWORD } })).status).toBe(200);

  console.clock.advance(8 * HOUR_MS);

  expect((await browser.ask("GET", "/api/session")).status).toBe(401);
});

test("use is recorded at most once a minute", async () => {
  await using console = await openConsole();
  const { browser } = await console.member("viewer");
  const lastSeen = async () => (await console.admin.members.list(console.orgId)).items[0]?.lastSeenAt;
  const opened = await lastSeen();

  console.clock.advance(59_999);
  await browser.ask("GET", "/api/session");
  expect(await lastSeen()).toBe(opened);
  console.clock.advance(1);
  await browser.ask("GET", "/api/session");

  expect(Date.parse((await lastSeen()) ?? "")).toBe(console.clock.now());
});

test("over https the cookie is bound to this host and to https", async () => {
  await using console = await openConsole({ publicUrl: "https://patchbay.example.com" });
  await console.member("viewer");
  const session = await console.browser("patchbay.example.com").signIn("viewer@example.com");

  const attributes = "HttpOnly; SameSite=Lax; Secure";
  expect(session.headers.getSetCookie()).toEqual([
    expect.stringMatching(`^__Host-patchbay=[0-9A-Za-z]{43}; Path=/; Max-Age=604800; ${attributes}$`),
    expect.stringMatching(`^__Host-patchbay-known=[0-9A-Za-z._~-]+; Path=/; Max-Age=34560000; ${attributes}$`),
  ]);
});

test("two services on one machine keep their sessions in one browser", async () => {
  await using one = await openConsole();
  await using other = await openConsole();
  const browsers = [one.browser("localhost:8787"), other.browser("localhost:8788")];
  for (const [i, console] of [one, other].entries()) {
    await console.member("viewer");
    await browsers[i]!.signIn("viewer@example.com");
  }
  // A browser sends the cookies of a host to each of its ports.
  const cookies = browsers.map(({ cookie }) => cookie);
  for (const browser of browsers) browser.cookie = cookies.join("; ");

  const answers = await Promise.all(browsers.map((browser) => browser.ask("GET", "/api/session")));

  expect(new Set(cookies.map((cookie) => cookie.split("=")[0])).size).toBe(2);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
});

test("X-Forwarded-Proto counts only from a trusted proxy", async () => {
  const headers = { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "patchbay.example.com" };
  const signIn = async (trustProxy: boolean) => {
    await using console = await openConsole({ trustProxy });
    await console.member("viewer");
    const body = { email: "viewer@example.com", password: PASSWORD };
    return await console.browser("10.0.0.5:8787").ask("POST", "/api/session", { body, headers });
  };

  expect((await signIn(true)).headers.getSetCookie()[0]).toMatch(/^__Host-patchbay=.*; Secure$/);
  expect((await signIn(false)).status).toBe(400);
});

test("sign-in over plain http works only on this machine; elsewhere the error gives advice", async () => {
  await using console = await openConsole();
  await console.member("viewer");
  for (const [host, port] of [
    ["localhost:8787", 8787],
    ["127.0.0.1:1", 1],
    ["[::1]:8787", 8787],
    ["localhost", 80],
  ] as const) {
    const [set] = (await console.browser(host).signIn("viewer@example.com")).headers.getSetCookie();
    const [cookie, ...attributes] = set?.split("; ") ?? [];
    expect(cookie).toMatch(new RegExp(`^patchbay-${port}=[0-9A-Za-z]{43}$`));
    expect(attributes).toEqual(["Path=/", "Max-Age=604800", "HttpOnly", "SameSite=Lax"]);
  }

  for (const host of ["192.168.1.5:8787", "patchbay.example.com", "localhost.evil.com"]) {
    const refused = await console.browser(host).signIn("viewer@example.com");
    expect(refused.status, host).toBe(400);
    expect(await refused.text()).toContain("--public-url https://");
  }
});

test("confirming the password replaces the session's secret", async () => {
  await using console = await openConsole();
  const { browser } = await console.member("owner");
  const before = browser.cookie;
  console.clock.advance(16 * 60_000);
  const confirm = (password: string) => browser.ask("POST", "/api/session/confirm", { body: { password } });

  expect(await failureOf(await confirm("wrong password"))).toEqual([400, "invalid_request"]);
  expect((await confirm(PASSWORD)).status).toBe(200);

  expect(browser.cookie).not.toBe(before);
  expect((await browser.ask("GET", "/api/session")).status).toBe(200);
  browser.cookie = before;
  expect((await browser.ask("GET", "/api/session")).status).toBe(401);
});

test("a new password requires the current one and ends every other session", async () => {
  await using console = await openConsole();
  const { browser, email } = await console.member("viewer");
  const elsewhere = console.browser();
  await elsewhere.signIn(email);
  const change = (current: string) =>
    browser.ask("PATCH", "/api/account", {
      body: { name: "Vi", password: { current, next: "another good password" } },
    });

  expect((await change("not the current one")).status).toBe(400);
  expect(await (await change(PASSWORD)).json()).toMatchObject({ member: { name: "Vi" } });

  expect((await browser.ask("GET", "/api/session")).status).toBe(200);
  expect((await elsewhere.ask("GET", "/api/session")).status).toBe(401);
  expect((await elsewhere.signIn(email)).status).toBe(401);
  expect((await elsewhere.signIn(email, "another good password")).status).toBe(200);
});

test("passwords of fewer than 12 characters are rejected", async () => {
  await using console = await openConsole();
  const { path } = await console.admin.members.invite({ orgId: console.orgId, email: "a@b.example", role: "viewer" });
  const body = { link: path.split("#")[1], name: "A", password: "elevenchars" };
  const refused = await console.browser().ask("POST", "/api/links/accept", { body });

  expect(await refused.json()).toMatchObject({ code: "invalid_request", details: [{ path: "password" }] });
});
