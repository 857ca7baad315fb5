import { expect, test } from "vitest";
import { printFigure } from "@patchbay/test-support/figures";
import { callThenAnswer, scriptFor } from "@patchbay/test-support/providers";
import { openStream, typed } from "./open-stream.ts";
import { startContractSystem } from "./contract-system.ts";

const waiting = callThenAnswer([{ name: "wait", arguments: { id: "a" } }]);
const key = { "idempotency-key": "k-1" };

test("the same key and body joins the first run: endpoint 1 waits for it, endpoint 2 replays it from its first event", async () => {
  await using system = await startContractSystem(waiting);
  const first = openStream(await system.post(system.path("query-stream"), { query: "hi" }, key));
  await first.until(typed("toolCall"));

  const waited = system.query("hi", {}, key);
  const replayed = openStream(await system.post(system.path("query-stream"), { query: "hi" }, key));
  await replayed.until(typed("toolCall"));
  system.desk.release("a");

  const whole = await first.rest();
  expect(await replayed.rest()).toBe(whole);
  expect(await waited).toMatchObject({ success: true, runId: first.runId });
  expect(system.desk.handled).toHaveLength(1);
});

test("two concurrent requests with one key start one run", async () => {
  await using system = await startContractSystem(waiting);
  system.desk.release("a");

  const answers = await Promise.all(Array.from({ length: 5 }, () => system.query("hi", {}, key)));

  expect(new Set(answers.map(({ runId }) => runId)).size).toBe(1);
  expect(system.desk.handled).toHaveLength(1);
});

test("the same key with another body -> 422", async () => {
  await using system = await startContractSystem(scriptFor({ text: "Hello." }));
  await system.query("hi", {}, key);

  const statuses: number[] = [];
  for (const endpoint of ["query", "query-stream"] as const) {
    const response = await system.post(system.path(endpoint), { query: "ho" }, key);
    statuses.push(response.status);
    expect(await response.json()).toMatchObject({ success: false, code: "idempotency_mismatch" });
  }

  printFigure("key with another body", { statuses: statuses.join(" ") });
  expect(statuses).toEqual([422, 422]);
});

test("its scope is the agent and the API key: another API key starts a separate run, whatever the body", async () => {
  await using system = await startContractSystem(scriptFor({ text: "Hello." }));
  const { admin } = system.plane;
  const other = await admin.createAgent("Other", { orgId: system.orgId });
  const second = await admin.createKey({ agentId: system.agentId });
  const pinned = await admin.createKey({ agentId: system.agentId, roles: ["support"] });
  const mine = await system.query("hi", { role: "admin" }, key);

  const theirs = await Promise.all([
    system.post(`/agents/${other.agentId}/query`, { query: "else" }, { ...key, "x-api-key": other.apiKey }),
    system.post(system.path(), { query: "else" }, { ...key, "x-api-key": second.apiKey }),
    system.post(system.path(), { query: "else", role: "support" }, { ...key, "x-api-key": pinned.apiKey }),
  ]);

  expect(theirs.map(({ status }) => status)).toEqual([200, 200, 200]);
  const runs = [mine.runId, ...theirs.map(({ headers }) => headers.get("X-Run-Id"))];
  expect(new Set(runs).size).toBe(4);
});

test("an API key that replaces another by rotation keeps its scope", async () => {
  await using system = await startContractSystem(scriptFor({ text: "Hello." }));
  const first = await system.query("hi", {}, key);

  const { secret: apiKey } = await system.plane.admin.credentials.rotate("api", system.keyId, { overlapMs: 60_000 });
  const joined = await system.query("hi", {}, { ...key, "x-api-key": apiKey });
  const mismatch = await system.post(system.path(), { query: "ho" }, { ...key, "x-api-key": apiKey });

  expect(joined).toEqual(first);
  expect(await system.query("hi", {}, key)).toEqual(first);
  expect(mismatch.status).toBe(422);
});

test("a key is not stored for a request that starts no run", async () => {
  await using system = await startContractSystem(scriptFor({ text: "Hello." }));

  const refused = await system.post(system.path(), { query: "hi", threadId: "thr_nobody" }, key);

  expect(refused.status).toBe(400);
  expect(await system.query("hi", {}, key)).toMatchObject({ success: true });
});

test("a run that ended before its first model turn releases its key", async () => {
  await using system = await startContractSystem(scriptFor({ text: "Hello." }), { connected: false, tier: "starter" });

  expect(await system.query("hi", {}, key)).toMatchObject({ code: "agent_session_not_found" });
  await system.connect(system.desk.service);
  expect(await system.query("hi", {}, key)).toMatchObject({ code: "insufficient_credits" });
  await system.plane.admin.grant(system.orgId, "0.000001");
  // The query is accepted this time, but the balance does not cover its first turn.
  expect(await system.query("hi", {}, key)).toMatchObject({ code: "insufficient_credits" });
  await system.plane.admin.grant(system.orgId, "5");

  expect(await system.query("hi", {}, key)).toMatchObject({ success: true });
});

test("a request that joins a run is not charged", async () => {
  await using system = await startContractSystem(scriptFor({ text: "Hello." }), { tier: "starter" });
  await system.plane.admin.grant(system.orgId, "5");

  await system.query("hi", {}, key);
  const { balanceUsd } = await system.plane.admin.showCredits(system.orgId);
  await system.query("hi", {}, key);

  expect(balanceUsd).toBeLessThan(5);
  expect(await system.plane.admin.showCredits(system.orgId)).toMatchObject({ balanceUsd });
});
