import type { AuditItem, RunTrace } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { parseSse } from "@patchbay/test-support/sse";
import { openDesk } from "./support/console-desk.ts";
import { failureOf } from "./support/open-console.ts";

test("a query streams like endpoint 2 with deltas, for the member", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const query = { query: "Show order 3", role: "customer", contextJson: '{"shop":1}' };

  const response = await developer.ask("POST", `${desk.agent}/playground`, { body: query });
  const events = parseSse(await response.text());

  expect(response.headers.get("Content-Type")).toContain("text/event-stream");
  const runId = response.headers.get("X-Run-Id")!;
  expect(events.some(({ data }) => (data.type as string) === "responseDelta")).toBe(true);
  expect(events.at(-1)?.data).toMatchObject({
    type: "finalResponse",
    runId,
    toolInteractions: [{ toolName: "show_order" }],
  });
  expect(await desk.store.runs.get(desk.agentId, runId)).toMatchObject({
    keyId: developer.memberId,
    role: "customer",
    request: { context: { shop: 1 } },
  });
  const hosted = (await desk.stream("Show order 3", { role: "customer" })).events;
  const types = (all: typeof events) => all.filter(({ id }) => id !== undefined).map(({ data }) => data.type);
  expect(types(events)).toEqual(types(hosted));
});

test("a member replaces the agent's instructions for one run, which keeps them; an API key cannot", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const query = { query: "Show order 3", role: "customer" };
  const instructions = "Answer like a pirate.";

  const sent = await developer.ask("POST", `${desk.agent}/playground`, { body: { ...query, instructions } });
  await sent.text();
  const runId = sent.headers.get("X-Run-Id")!;
  const rerun = await developer.json<{ runId: string }>("POST", `${desk.agent}/runs/${runId}/reruns`);
  const byKey = await desk.stream("Show order 3", { role: "customer", instructions });
  const systemOf = async (id: string) => {
    const { system, instructions: own } = (await desk.store.runs.get(desk.agentId, id))!.request;
    return [system.includes(instructions), own];
  };

  expect(await systemOf(runId)).toEqual([true, instructions]);
  expect(await systemOf(rerun.runId)).toEqual([true, instructions]);
  expect(await systemOf(byKey.events.at(-1)!.data.runId as string)).toEqual([false, undefined]);
  const trace = await developer.json<RunTrace>("GET", `${desk.agent}/runs/${runId}`);
  expect(trace.instructions).toBe(instructions);
  const { items } = await developer.json<{ items: AuditItem[] }>("GET", `/audit?runId=${runId}&action=run.started`);
  expect(items.map(({ sentence }) => sentence)).toEqual(["A run as customer was accepted with its own instructions."]);
  const empty = await developer.ask("POST", `${desk.agent}/playground`, { body: { ...query, instructions: "" } });
  expect(await failureOf(empty)).toEqual([400, "invalid_request"]);
});

test("a repeated query with the same Idempotency-Key joins the run", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const send = (query: string, key: string) =>
    developer.ask("POST", `${desk.agent}/playground`, { body: { query }, headers: { "idempotency-key": key } });

  const [first, second] = [await send("Show order 3", "k1"), await send("Show order 3", "k1")];

  expect(second.headers.get("X-Run-Id")).toBe(first.headers.get("X-Run-Id"));
  expect(await second.text()).toContain("finalResponse");
  expect(await first.text()).toContain("finalResponse");
  expect(await failureOf(await send("Show order 4", "k1"))).toEqual([422, "idempotency_mismatch"]);
  expect(await failureOf(await send("Show order 3", "k".repeat(256)))).toEqual([400, "invalid_request"]);
});

test("a viewer may not query, and the organisation's rate limit applies", async () => {
  await using desk = await openDesk({ tier: "one", tiers: { one: { queriesPerMinute: 1, charged: false } } });
  const [viewer, developer] = [await desk.member("viewer"), await desk.member("developer")];
  const body = { query: "Show order 3" };

  const refused = await viewer.ask("POST", `${desk.agent}/playground`, { body });
  const answered = await developer.ask("POST", `${desk.agent}/playground`, { body });
  await answered.text();
  const limited = await developer.ask("POST", `${desk.agent}/playground`, { body });

  expect(await failureOf(refused)).toEqual([403, "console_role_required"]);
  expect(answered.status).toBe(200);
  expect(await failureOf(limited)).toEqual([429, "rate_limited"]);
});
