import type { RunPage, RunTrace, RunValues, TestCallResult } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import type { z } from "zod";
import { openDesk } from "./support/console-desk.ts";
import { failureOf } from "./support/open-console.ts";

type RunList = z.infer<typeof RunPage>;
type Desk = Awaited<ReturnType<typeof openDesk>>;

async function attempt(desk: Desk, name: string, body: object): Promise<TestCallResult> {
  const developer = await desk.member("developer");
  return developer.json<TestCallResult>("POST", `${desk.agent}/functions/${name}/test-calls`, { body });
}

test("a test call returns the redacted result and names the removed fields", async () => {
  await using desk = await openDesk();

  const customer = await attempt(desk, "show_order", { role: "customer", arguments: { id: 3 } });
  const manager = await attempt(desk, "show_order", { role: "manager", arguments: { id: 3 } });

  expect(customer).toEqual({
    runId: expect.stringMatching(/^run_/),
    callId: expect.stringMatching(/^call_/),
    runtime: expect.any(String),
    ok: true,
    value: { id: 3 },
    redacted: ["cost"],
    code: null,
    errorMessage: null,
    rule: null,
    durationMs: expect.any(Number),
  });
  expect(manager).toMatchObject({ value: { id: 3, cost: 7 }, redacted: [] });
});

test.each([
  ["close_shop", "agent", {}, { code: "unknown_function", rule: "roles" }],
  ["no_such_function", "agent", {}, { code: "unknown_function", rule: "unknown" }],
  ["refund", "agent", { amount: 500 }, { code: "denied", rule: "authorize" }],
  ["refund", "agent", { amount: "much" }, { code: "invalid_arguments", rule: "input" }],
  ["break_down", "agent", {}, { code: "function_failed", rule: null, errorMessage: "The printer is on fire." }],
])("%s as %s with %o is denied or fails with its reason", async (name, role, input, expected) => {
  await using desk = await openDesk();

  expect(await attempt(desk, name, { role, arguments: input })).toMatchObject({ ok: false, ...expected });
});

test("a test call is an audited run of the member and costs nothing", async () => {
  await using desk = await openDesk({ tier: "starter" });
  const developer = await desk.member("developer");

  const { runId } = await developer.json<TestCallResult>("POST", `${desk.agent}/functions/refund/test-calls`, {
    body: { role: "manager", arguments: { amount: 1 } },
  });

  const run = await desk.store.runs.get(desk.agentId, runId);
  expect(run).toMatchObject({ keyId: developer.memberId, role: "manager", status: "succeeded" });
  expect(run).toMatchObject({ request: { provider: "test_call", query: 'refund {"amount":1}' } });
  const { items } = await desk.store.audit.list({ agentId: desk.agentId, runId, action: "call", limit: 9 });
  expect(items).toMatchObject([{ action: "call.succeeded", functionName: "refund", keyId: developer.memberId }]);
  expect(await desk.store.accounts.balance(desk.orgId)).toBe(0);
});

test("the waterfall of a test call shows when the runtime received its call", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const body = { arguments: { id: 1 } };
  const { runId } = await developer.json<TestCallResult>("POST", `${desk.agent}/functions/show_order/test-calls`, {
    body,
  });

  const { spans } = await developer.json<RunTrace>("GET", `${desk.agent}/runs/${runId}`);

  const call = spans.find(({ kind }) => kind === "call");
  // A test call has no turns of a model.
  expect(spans[0]?.name).toBe("call of show_order");
  expect(spans.map(({ kind, parentId }) => [kind, parentId])).toEqual([
    ["query", null],
    ["call", runId],
  ]);
  expect(call?.waitMs).toEqual(expect.any(Number));
  expect(call?.waitMs).toBeLessThanOrEqual(call!.endMs! - call!.startMs);
});

test("a test call fails with a clear message while no runtime is connected", async () => {
  await using desk = await openDesk();
  const { agentId } = await desk.admin.createAgent("Buyer", { orgId: desk.orgId });
  const developer = await desk.member("developer");

  const tried = await developer.json<TestCallResult>("POST", `/agents/${agentId}/functions/refund/test-calls`, {
    body: { arguments: {} },
  });

  expect(tried).toMatchObject({
    ok: false,
    code: "agent_session_not_found",
    errorMessage: "Agent session not found",
    rule: null,
  });
});

test("runs filtered by test calls include one that ended before its call", async () => {
  await using desk = await openDesk();
  const { agentId } = await desk.admin.createAgent("Buyer", { orgId: desk.orgId });
  const developer = await desk.member("developer");
  const body = { arguments: {} };
  const { runId } = await developer.json<TestCallResult>("POST", `/agents/${agentId}/functions/refund/test-calls`, {
    body,
  });

  const bySource = async (source: string) => {
    const { items } = await developer.json<RunList>("GET", `/agents/${agentId}/runs?source=${source}`);
    return items.map((run) => [run.runId, run.source]);
  };

  expect(await bySource("test_call")).toEqual([[runId, "test_call"]]);
  expect(await bySource("playground")).toEqual([]);
  const { models } = await developer.json<RunValues>("GET", `/agents/${agentId}/run-values`);
  expect(models).toEqual([]);
});

test("a context that is too large is rejected", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const context = { text: "x".repeat(65_536) };

  const response = await developer.ask("POST", `${desk.agent}/functions/refund/test-calls`, {
    body: { arguments: {}, context },
  });

  expect(await failureOf(response)).toEqual([400, "invalid_request"]);
});

test("test calls count towards the query limit of the organisation", async () => {
  await using desk = await openDesk({ tier: "one", tiers: { one: { queriesPerMinute: 1, charged: false } } });
  const developer = await desk.member("developer");
  const path = `${desk.agent}/functions/refund/test-calls`;
  const body = { role: "manager", arguments: { amount: 1 } };

  expect((await developer.ask("POST", path, { body })).status).toBe(200);
  const refused = await developer.ask("POST", path, { body });

  expect(refused.headers.get("Retry-After")).not.toBeNull();
  expect(await failureOf(refused)).toEqual([429, "rate_limited"]);
});
