import { CONSOLE_ROUTES } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { sampleCall, sampleRequest, sampleRun, sampleTurn, ending } from "../../store/test/contract/world.ts";
import { failureOf, openConsole } from "./support/open-console.ts";

const DAY_MS = 86_400_000;
type Console = Awaited<ReturnType<typeof openConsole>>;
type Route =
  | "GET /analytics"
  | "GET /agents/:agent_id/analytics"
  | "GET /audit"
  | "GET /credits"
  | "GET /credits/ledger";

test("analytics show the queries of the last day in buckets of 30 minutes", async () => {
  await using console = await openConsole();
  const { agentId, ask } = await openWithQuery(console);

  const all = await ask("GET /analytics", "/analytics");
  const ofAgent = await ask("GET /agents/:agent_id/analytics", `/agents/${agentId}/analytics?role=clerk`);

  expect(all).toEqual(ofAgent);
  expect(all).toMatchObject({
    from: "2029-12-31T00:00:01.000Z",
    to: "2030-01-01T00:00:01.000Z",
    bucketMs: 1_800_000,
    totals: { succeeded: 1, failed: 0, cancelled: 0, inputTokens: 100, outputTokens: 10, costUsd: 0.0005 },
    models: [{ provider: "offline", turns: 1, costUsd: 0.0005 }],
    functions: [{ name: "list_orders", calls: 1, failed: 0, denied: 0 }],
    roles: [{ role: "clerk", queries: 1, failed: 0, costUsd: 0.0005 }],
  });
  expect(all.buckets).toHaveLength(49);
  expect(all.buckets.at(-1)).toMatchObject({ at: "2030-01-01T00:00:00.000Z", succeeded: 1, costUsd: 0.0005 });
  expect(all.models[0]?.costs).toEqual(all.buckets.map(({ costUsd }) => costUsd));
});

test("at most 50 functions are shown, by number of calls", async () => {
  await using console = await openConsole();
  const { agentId, ask } = await openWithQuery(console);
  const run = await startRun(console, agentId);
  const called = (i: number) =>
    sampleCall(`extra_${i}`, { position: i, functionName: `fn_${i}`, outcome: { ok: true, value: 1 } });
  await console.store.runs.commit(run, { calls: Array.from({ length: 60 }, (_, i) => called(i)) });
  await console.store.runs.commit(run, { calls: [{ ...called(59), callId: "again" }] });
  console.clock.advance(1);

  const { functions } = await ask("GET /analytics", "/analytics");

  expect(functions).toHaveLength(50);
  expect(functions[0]).toMatchObject({ name: "fn_59", calls: 2 });
});

test("an agent of another organisation is not found, and invalid ranges are rejected", async () => {
  await using console = await openConsole();
  const { agentId, browser } = await openWithQuery(console);
  const { orgId } = await console.admin.createOrg("Other");
  const other = await console.admin.createAgent("Theirs", { orgId });
  const { browser: stranger } = await console.member("owner", { email: "else@example.com", org: orgId });

  for (const [who, id] of [
    [browser, other.agentId],
    [stranger, agentId],
    [browser, "agt_none"],
  ] as const)
    expect(await failureOf(await who.ask("GET", `/api/agents/${id}/analytics`))).toEqual([404, "not_found"]);
  for (const path of ["/analytics", "/credits"])
    for (const query of ["from=yesterday", "from=2030-01-02T00:00:00Z", "from=2028-01-01T00:00:00Z"])
      expect(await failureOf(await browser.ask("GET", `/api${path}?${query}`))).toEqual([400, "invalid_request"]);
});

test("the audit log has sentences with the actor, and no entries of another organisation", async () => {
  await using console = await openConsole();
  const { agentId, ask } = await openWithQuery(console);
  const { orgId } = await console.admin.createOrg("Other");
  await console.admin.createAgent("Theirs", { orgId });
  const { memberId, browser } = await console.member("developer");
  await browser.ask("PATCH", `/api/agents/${agentId}`, { body: { name: "Renamed" } });

  const ofAgent = await ask("GET /audit", `/audit?agentId=${agentId}&action=agent`);
  const all = await ask("GET /audit", "/audit?limit=100");

  expect(ofAgent.items.map(({ sentence }) => sentence)).toEqual([
    "developer changed name of the agent.",
    "The operator created agent Renamed.",
  ]);
  expect(ofAgent.items[0]).toMatchObject({ keyId: memberId, member: "developer", detail: { changed: ["name"] } });
  expect(all.items.filter(({ action }) => action === "agent.created")).toHaveLength(1);
});

test("the audit log is paged and filtered", async () => {
  await using console = await openConsole();
  const { ask } = await openWithQuery(console);

  const first = await ask("GET /audit", "/audit?limit=1");
  const second = await ask("GET /audit", `/audit?limit=1&cursor=${first.nextCursor}`);
  const later = await ask("GET /audit", "/audit?from=2030-01-01T00:00:02Z");

  expect([first.items.length, second.items.length, later.items.length]).toEqual([1, 1, 0]);
  expect(second.items[0]?.id).not.toBe(first.items[0]?.id);
});

test("a time range of the audit log includes its start and excludes its end", async () => {
  await using console = await openConsole();
  const { ask } = await openWithQuery(console);
  const { items } = await ask("GET /audit", "/audit");
  const at = items[0]?.at;

  const upTo = await ask("GET /audit", `/audit?to=${at}`);
  const from = await ask("GET /audit", `/audit?from=${at}`);

  expect(upTo.items).toEqual(items.filter((item) => item.at < at!));
  expect(from.items).toEqual(items.filter((item) => item.at >= at!));
});

test("credits show the balance, the reserved amount, each day, and how long the balance lasts", async () => {
  await using console = await openConsole();
  const { orgId } = await console.admin.createOrg("Paying", "starter");
  const { agentId, ask, signInAgain } = await openWithQuery(console, orgId);
  console.clock.advance(9 * DAY_MS);
  await console.admin.grant(orgId, "70");
  const spending = await startRun(console, agentId, orgId);
  await console.store.runs.reserve(orgId, spending.runId, 0, 9_000_000);
  await console.store.runs.commit(spending, {
    turn: sampleTurn(0, { reservedMicros: 9_000_000, costMicros: 6_000_000 }),
  });
  await console.store.runs.reserve(orgId, spending.runId, 1, 1_000_000);

  await signInAgain();
  const credits = await ask("GET /credits", "/credits?from=2030-01-09T00:00:00Z&to=2030-02-01T00:00:00Z");
  const ledger = await ask("GET /credits/ledger", "/credits/ledger?limit=2");
  const grants = await ask("GET /credits/ledger", "/credits/ledger?kind=grant");

  expect(credits).toEqual({
    balanceUsd: 63,
    reservedUsd: 1,
    charged: true,
    days: [
      { day: "2030-01-09", spentUsd: 0, grantedUsd: 0, balanceUsd: 0 },
      { day: "2030-01-10", spentUsd: 6, grantedUsd: 70, balanceUsd: 63 },
    ],
    // Seven days at a dollar each, the one that is held included.
    daysLeft: 63,
  });
  expect(ledger.items).toMatchObject([
    { kind: "reserve", usd: -1, runId: spending.runId, agentId, step: 1 },
    { kind: "settle", usd: 3, step: 0 },
  ]);
  expect(ledger.nextCursor).not.toBeNull();
  expect(grants.items).toMatchObject([{ kind: "grant", usd: 70, runId: null, agentId: null }]);
});

test("the pace of a young organisation covers its age, and an uncharged one has no days left", async () => {
  await using console = await openConsole();
  const { orgId } = await console.admin.createOrg("New", "starter");
  const { agentId, ask, signInAgain } = await openWithQuery(console, orgId);
  await console.admin.grant(orgId, "10");
  console.clock.advance(2 * DAY_MS - 2_000);
  const run = await startRun(console, agentId, orgId);
  await console.store.runs.reserve(orgId, run.runId, 0, 2_000_000);
  await signInAgain();
  const free = await openWithQuery(console, console.orgId, "free@example.com");

  expect(await ask("GET /credits", "/credits")).toMatchObject({ balanceUsd: 8, daysLeft: 8 });
  expect(await free.ask("GET /credits", "/credits")).toMatchObject({ charged: false, daysLeft: null });
});

/** A member, and an agent with one query as a clerk, a second before now. */
async function openWithQuery(console: Console, orgId = console.orgId, email = "ada@example.com") {
  const { agentId } = await console.admin.createAgent("Clerk", { orgId });
  const run = await startRun(console, agentId, orgId, "clerk");
  await console.store.runs.commit(run, {
    ...ending(run),
    turn: sampleTurn(0, { costMicros: 500 }),
    calls: [sampleCall(`call_${run.runId}`, { outcome: { ok: true, value: [] } })],
  });
  console.clock.advance(1_000);
  const { browser } = await console.member("viewer", { email, org: orgId });

  /** The answer in the shape that its route promises. */
  async function ask<Name extends Route>(name: Name, path: string) {
    const response = await browser.ask("GET", `/api${path}`);
    if (!response.ok) throw new Error(await response.text());
    return CONSOLE_ROUTES[name].answer.strict().parse(await response.json()) as ReturnType<
      (typeof CONSOLE_ROUTES)[Name]["answer"]["parse"]
    >;
  }
  return { agentId, browser, ask, signInAgain: () => browser.signIn(email) };
}

async function startRun({ store, orgId }: Console, agentId: string, ofOrg = orgId, role?: string) {
  const request = sampleRequest(role === undefined ? {} : { role });
  const started = await store.runs.start(sampleRun({ orgId: ofOrg, agentId, request }));
  if (started.kind !== "started") throw new Error(started.kind);
  return started.run;
}
