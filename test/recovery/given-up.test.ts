import { expect, test, vi } from "vitest";
import { startCore } from "../../packages/control-plane/test/run/core.ts";
import { fakeGateway, manifestOf } from "../../packages/control-plane/test/run/fake-gateway.ts";
import { scriptedModel } from "../../packages/control-plane/test/run/scripted-model.ts";
import { until } from "../support/inbox.ts";
import { expectSoundRuns } from "../support/invariants.ts";
import { startDeployment, type Deployment } from "../support/processes.ts";
import { startStandIn } from "../support/providers/index.ts";
import { readAlong } from "../support/reader.ts";

vi.setConfig({ testTimeout: 60_000 });

async function eventsOf(desk: Deployment, runId: string): Promise<string> {
  const reader = readAlong(await desk.get(`/agents/${desk.agentId}/runs/${runId}/events`));
  expect(await reader.over).toBe(true);
  return reader.text;
}

test.concurrent("a run whose time ran out while its control plane was down ends at the next start", async () => {
  await using standIn = await startStandIn("anthropic", () => ({
    calls: [{ name: "charge", arguments: { id: "held" } }],
  }));
  await using desk = await startDeployment({ env: standIn.env, serveArgs: ["--run-timeout", "2"] });
  await using _runtime = await desk.connect();
  const stream = readAlong(await desk.post(`/agents/${desk.agentId}/query-stream`, { query: "hi" }));
  const askedAt = Date.now();
  await until(() => desk.functionRuns().length === 1, "the call");
  await desk.kill(desk.serve);
  await until(() => Date.now() - askedAt > 2_000, "the deadline");

  await desk.restart();

  expect(await eventsOf(desk, stream.runId)).toContain('"errorMessage":"Run timed out","code":"deadline_exceeded"');
  expect(expectSoundRuns(desk.databaseFile)).toEqual({ runs: 1, succeeded: 0 });
});

test.concurrent("a run whose process ends again and again is ended", async () => {
  await using standIn = await startStandIn("anthropic", () => new Promise(() => {}));
  await using desk = await startDeployment({ env: standIn.env, tier: "growth" });
  await using _runtime = await desk.connect();
  const stream = readAlong(await desk.post(`/agents/${desk.agentId}/query-stream`, { query: "hi" }));
  for (let deaths = 1; deaths <= 4; deaths++) {
    await standIn.received(deaths);
    await desk.kill(desk.serve);
    await desk.restart();
  }

  expect(await eventsOf(desk, stream.runId)).toContain('"code":"crash_loop"');
  expect(standIn.requests).toHaveLength(4);
  // What was held for the turns that never came was given back.
  expect(expectSoundRuns(desk.databaseFile)).toEqual({ runs: 1, succeeded: 0 });
  expect(await desk.admin("credits", "show", "--org", desk.orgId)).toMatchObject({ balanceUsd: 100 });
});

test.concurrent("a cancellation that nobody told the run's process of reaches it with the next renewal", async () => {
  const { catalog: models } = scriptedModel([{ until: new Promise(() => {}) }]);
  const { gateway } = fakeGateway(manifestOf({}), () => ({ kind: "undelivered" }));
  await using core = await startCore({ models, gateway, runTimeoutMs: 30_000 });
  const run = await core.runs.start(core.caller, { query: "hi", analysisMode: false, maxTokens: 100 });

  await core.store.runs.requestCancel(run.agentId, run.runId);

  const signal = AbortSignal.timeout(10_000);
  expect(await core.runs.result(run, { signal })).toMatchObject({ code: "cancelled", errorMessage: "Run cancelled" });
});
