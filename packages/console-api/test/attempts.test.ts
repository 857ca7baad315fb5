import { expect, test } from "vitest";
import { createAttempts } from "../src/account/attempts.ts";
import type { Exchange } from "@patchbay/server/kernel/exchange";
import { failureOf, openConsole, PASSWORD } from "./support/open-console.ts";

const HOST = "localhost:8787";
const RATE_LIMITED = { code: "rate_limited" };

/** Attempts of this process, with a clock that a wait moves on at once. */
function openAttempts() {
  const clock = {
    time: 0,
    now: () => clock.time,
    async sleep(ms: number) {
      clock.time += ms;
    },
  };
  return { clock, attempts: createAttempts({ trustProxy: false, clock }) };
}

function exchangeFrom(remoteAddress: string): Exchange {
  const raw = { signal: new AbortController().signal };
  const context = { env: { incoming: { socket: { remoteAddress } } }, req: { header: () => undefined, raw } };
  return { c: context as unknown as Exchange["c"], requestId: "req_1", headers: {}, cookies: [], facts: {} };
}

test("attempts for an account from one address are rejected after ten failures, until a success", async () => {
  await using console = await openConsole();
  const { email } = await console.member("viewer");
  const attempt = (password: string) => console.browser().signIn(email, password);
  for (let i = 0; i < 9; i++) expect((await attempt("wrong")).status).toBe(401);
  expect((await attempt(PASSWORD)).status).toBe(200);
  for (let i = 0; i < 10; i++) expect((await attempt("wrong")).status).toBe(401);

  const refused = await attempt(PASSWORD);

  expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
  expect(await failureOf(refused)).toEqual([429, "rate_limited"]);
});

test("a browser that signed in before can sign in from a rejected address", async () => {
  await using console = await openConsole();
  const { email, browser } = await console.member("viewer");
  await browser.ask("DELETE", "/api/session");
  expect([browser.cookie, browser.known]).toEqual(["", expect.stringMatching(/^patchbay-8787-known=/)]);
  for (let i = 0; i < 11; i++) await console.browser().signIn(email, "wrong");
  expect((await console.browser().signIn(email)).status).toBe(429);

  expect((await browser.signIn(email)).status).toBe(200);
});

test("the proof of an earlier sign-in gives no access, and is valid for one account and its current password", async () => {
  await using console = await openConsole();
  const { email, browser } = await console.member("viewer");
  const other = await console.member("developer");
  const next = "another good password";
  const earlier = console.browser();
  await earlier.signIn(email);
  await browser.ask("PATCH", "/api/account", { body: { password: { current: PASSWORD, next } } });
  for (const one of [email, other.email]) for (let i = 0; i < 10; i++) await console.browser().signIn(one, "wrong");
  const comeIn = async (known: string, address: string, password: string) => {
    const visitor = console.browser();
    visitor.known = known;
    expect((await visitor.ask("GET", "/api/session")).status).toBe(401);
    return (await visitor.signIn(address, password)).status;
  };

  expect(await comeIn(browser.known, email, next)).toBe(200);
  expect(await comeIn(earlier.known, email, next)).toBe(429);
  expect(await comeIn(browser.known, other.email, PASSWORD)).toBe(429);
  const forged = browser.known.replace(/=(\w)/, (_all, first: string) => `=${first === "x" ? "y" : "x"}`);
  expect(await comeIn(forged, email, next)).toBe(429);
});

test("one browser is known for each account that it signed in to", async () => {
  await using console = await openConsole();
  const accounts = [await console.member("viewer"), await console.member("developer")];
  const shared = console.browser();
  for (const { email } of accounts) await shared.signIn(email);
  for (const { email } of accounts) for (let i = 0; i < 10; i++) await console.browser().signIn(email, "wrong");

  for (const { email } of accounts) expect((await shared.signIn(email)).status).toBe(200);
});

test("failures of a known browser delay it and never reject it", async () => {
  await using console = await openConsole();
  const { email, browser } = await console.member("viewer");
  const waits: number[] = [];
  for (let i = 0; i < 20; i++) {
    const before = console.clock.now();
    expect((await browser.signIn(email, "wrong")).status).toBe(401);
    waits.push(console.clock.now() - before);
  }

  expect(waits.slice(0, 5)).toEqual([0, 0, 0, 0, 0]);
  expect(waits.slice(5, 12)).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 15_000]);
  expect((await browser.signIn(email)).status).toBe(200);
  const before = console.clock.now();
  expect((await browser.signIn(email, "wrong")).status).toBe(401);
  expect(console.clock.now()).toBe(before);
});

test("parallel attempts of a known browser are as slow as sequential ones", async () => {
  const waits: number[] = [];
  const clock = { now: () => 0, sleep: async (ms: number) => void waits.push(ms) };
  const attempts = createAttempts({ trustProxy: false, clock });
  const guess = { account: "ada@example.com", browser: "browser_1" };
  for (let i = 0; i < 11; i++) await attempts.take(exchangeFrom("192.0.2.1"), guess);

  const together = await Promise.allSettled(
    Array.from({ length: 100 }, () => attempts.take(exchangeFrom("192.0.2.1"), guess)),
  );

  const after = 250 + 500 + 1_000 + 2_000 + 4_000 + 8_000;
  expect(waits.slice(6)).toEqual([after + 15_000, after + 30_000]);
  expect(together.map(({ status }) => status === "fulfilled").slice(0, 3)).toEqual([true, true, false]);
  expect(together.filter(({ status }) => status === "rejected")).toHaveLength(98);
});

test("failures from elsewhere delay the owner by seconds and reject nothing", async () => {
  const { attempts, clock } = openAttempts();
  const guess = { account: "ada@example.com" };
  for (let i = 0; i < 500; i++) await attempts.take(exchangeFrom(`198.51.${100 + (i >> 7)}.${i % 128}`), guess);
  const before = clock.now();

  await attempts.take(exchangeFrom("203.0.113.9"), guess);

  expect(clock.now() - before).toBe(5_000);
  await attempts.take(exchangeFrom("203.0.113.9"), { account: "bob@example.com" });
  expect(clock.now() - before).toBe(5_000);
});

test.each([
  ["a /64", 10, (i: number) => `2001:db8:0:1:${i.toString(16)}::1`, "2001:db8:0:2::1"],
  ["a /56", 20, (i: number) => `2001:db8:0:1${(i + 16).toString(16)}::1`, "2001:db8:0:200::1"],
  ["a /48", 40, (i: number) => `2001:db8:0:${(i * 256).toString(16)}::1`, "2001:db8:1::1"],
])("attempts for an account from %s are limited together", async (_network, most, addressOf, elsewhere) => {
  const { attempts } = openAttempts();
  const guess = { account: "ada@example.com" };
  for (let i = 0; i < most; i++) await attempts.take(exchangeFrom(addressOf(i)), guess);

  await expect(attempts.take(exchangeFrom(addressOf(most)), guess)).rejects.toMatchObject(RATE_LIMITED);
  await attempts.take(exchangeFrom(elsewhere), guess);
});

test("attempts from an address are limited over all accounts", async () => {
  await using console = await openConsole();
  const from = (i: number) => console.browser(HOST, `2001:db8:0:1:${i.toString(16)}::1`);
  const open = (i: number) => from(i).ask("POST", "/api/links", { body: { link: `guess-${i}` } });
  for (let i = 0; i < 50; i++) expect((await open(i)).status).toBe(404);

  expect((await open(50)).status).toBe(429);
  expect((await from(51).signIn("anyone@example.com")).status).toBe(429);
  const other = console.browser(HOST, "2001:db8:0:200::1");
  expect((await other.ask("POST", "/api/links", { body: { link: "x" } })).status).toBe(404);
});

test("successful attempts are not counted, so an office behind one address is not locked out", async () => {
  await using console = await openConsole();
  const { path } = await console.admin.members.signInLink(console.orgId);
  const inspect = () => console.browser().ask("POST", "/api/links", { body: { link: path.split("#")[1] } });

  for (let i = 0; i < 60; i++) expect((await inspect()).status).toBe(200);
});

test("eighty concurrent sign-ins all get a response", async () => {
  await using console = await openConsole();
  const { email } = await console.member("viewer");
  const strangers = Array.from({ length: 80 }, (_, i) => console.browser(HOST, `198.51.100.${i}`));

  const answers = await Promise.all([
    ...strangers.map((one, i) => one.signIn(`stranger-${i}@example.com`, "wrong")),
    console.browser().signIn(email),
  ]);

  expect(answers.map(({ status }) => status)).toEqual([...strangers.map(() => 401), 200]);
});
