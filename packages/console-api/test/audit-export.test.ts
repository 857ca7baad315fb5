import type { ServiceScope } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import type { AccessWatch } from "@patchbay/engine/ports/access-watch";
import { failureOf, openConsole } from "./support/open-console.ts";

const SETTLED_MS = 11_000;
const ENTRIES = 1_234;

interface Line {
  cursor: string;
  action: string;
  at: string;
}

const linesOf = (text: string): Line[] =>
  text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);

/** A console with many settled entries, and exports with a service token. `end` ends what was held, as a revocation does. */
async function openLog() {
  const held = new Map<string, () => void>();
  const access: AccessWatch = {
    hold({ kind, id }, end) {
      held.set(kind, end);
      return { [Symbol.dispose]: () => void held.delete(`${kind} ${id}`) };
    },
  };
  const console = await openConsole({ access });
  const { store, orgId, clock } = console;
  const scopes: ServiceScope[] = ["audit:read"];
  const { secret } = await console.admin.serviceTokens.create({ orgId, scopes });
  const entries = Array.from({ length: ENTRIES }, (_, n) => ({ orgId, action: `numbered.${n}` }));
  await store.audit.record(entries);
  await store.accounts.createOrg({ orgId: "org_2", name: "Other", tier: "sandbox" });
  await store.audit.record([{ orgId: "org_2", action: "foreign" }]);
  clock.advance(SETTLED_MS);
  const program = console.browser();
  return {
    ...console,
    held,
    ask: (query = "") =>
      program.ask("GET", `/api/audit/export${query}`, { headers: { Authorization: `Bearer ${secret}` } }),
  };
}

test("an export has every entry of the organisation once, oldest first, and continues at the cursor of any line", async () => {
  await using log = await openLog();
  const whole = await log.ask();
  const lines = linesOf(await whole.text());

  expect(whole.headers.get("Content-Type")).toBe("application/x-ndjson");
  const numbered = lines.filter(({ action }) => action.startsWith("numbered.")).map(({ action }) => action);
  expect(numbered).toEqual(Array.from({ length: ENTRIES }, (_, n) => `numbered.${n}`));
  expect(lines.map(({ action }) => action)).not.toContain("foreign");
  expect(lines.map(({ action }) => action)).toContain("service_token.created");
  const rest = await log.ask(`?cursor=${lines[699]!.cursor}`);
  expect(linesOf(await rest.text())).toEqual(lines.slice(700));

  const last = lines.at(-1)!.cursor;
  expect(await (await log.ask(`?cursor=${last}`)).text()).toBe("");
  await log.store.audit.record([{ orgId: log.orgId, action: "new" }]);
  expect(await (await log.ask(`?cursor=${last}`)).text()).toBe("");
  log.clock.advance(SETTLED_MS);
  expect(linesOf(await (await log.ask(`?cursor=${last}`)).text())).toMatchObject([{ action: "new" }]);
});

test("an export has the entries of the time that is asked for", async () => {
  await using log = await openLog();
  const { store, orgId, clock } = log;
  const asked = async (query: string) => linesOf(await (await log.ask(query)).text()).map(({ action }) => action);
  const before = (await asked("")).length;
  const [from, to] = [clock.now(), clock.now() + 1_000].map((at) => new Date(at).toISOString());
  await store.audit.record([{ orgId, action: "within" }]);
  clock.advance(1_000);
  await store.audit.record([{ orgId, action: "after" }]);
  clock.advance(SETTLED_MS);

  expect(await asked(`?from=${from}&to=${to}`)).toEqual(["within"]);
  expect(await asked(`?from=${to}`)).toEqual(["after"]);
  expect(await asked(`?to=${from}`)).toHaveLength(before);
});

test("an export reads a page when the client has taken the one before", async () => {
  await using log = await openLog();
  let pages = 0;
  const { settled } = log.store.audit;
  log.store.audit.settled = (...asked) => {
    pages++;
    return settled(...asked);
  };

  const reader = (await log.ask()).body!.getReader();
  expect(pages).toBe(1);
  await reader.read();
  await reader.read();
  expect(pages).toBe(2);
  await reader.cancel();
  expect(pages).toBe(2);
});

test("a revocation of the token ends an export within its next page", async () => {
  await using log = await openLog();
  const reader = (await log.ask()).body!.getReader();
  await reader.read();

  log.held.get("serviceToken")!();

  await expect(reader.read()).rejects.toThrow("ended during the export");
});

test("a wrong cursor and a wrong time are answered with 400", async () => {
  await using log = await openLog();
  expect(await failureOf(await log.ask("?cursor=x"))).toEqual([400, "invalid_request"]);
  expect(await failureOf(await log.ask("?from=yesterday"))).toEqual([400, "invalid_request"]);
});
