import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { until } from "@patchbay/test-support/inbox";
import { expectSoundRuns } from "../support/invariants.ts";
import { startDeployment, type Deployment } from "../support/processes.ts";
import { startStandIn } from "@patchbay/test-support/providers";
import { readAlong } from "@patchbay/test-support/reader";

async function eventsOf(deployment: Deployment, runId: string): Promise<string> {
  const reader = readAlong(await deployment.get(`/agents/${deployment.agentId}/runs/${runId}/events`));
  expect(await reader.over).toBe(true);
  return reader.text;
}

test.concurrent("a run whose deadline passes while its control plane is down ends at the next start", async () => {
  await using standIn = await startStandIn("anthropic", () => ({
    calls: [{ name: "charge", arguments: { id: "held" } }],
  }));
  await using deployment = await startDeployment({ env: standIn.env });
  await using _runtime = await deployment.connect();
  const stream = readAlong(await deployment.post(`/agents/${deployment.agentId}/query-stream`, { query: "hi" }));
  await until(() => deployment.functionRuns().length === 1, "the call");
  await deployment.kill(deployment.serve);
  using database = new DatabaseSync(deployment.databaseFile);
  database.prepare("update runs set deadline_at = created_at").run();

  await deployment.restart();

  expect(await eventsOf(deployment, stream.runId)).toContain(
    '"errorMessage":"Run timed out","code":"deadline_exceeded"',
  );
  expect(await expectSoundRuns(deployment.databaseFile)).toEqual({ runs: 1, succeeded: 0 });
});

test.concurrent("a run whose process repeatedly crashes is ended", async () => {
  await using standIn = await startStandIn("anthropic", () => new Promise(() => {}));
  await using deployment = await startDeployment({ env: standIn.env, tier: "growth" });
  await using _runtime = await deployment.connect();
  const stream = readAlong(await deployment.post(`/agents/${deployment.agentId}/query-stream`, { query: "hi" }));
  let ended = stream.over;
  // A death 3 s after the run was claimed does not count, so a slow machine needs more than four of them.
  for (let deaths = 1; ; deaths++) {
    expect(deaths).toBeLessThan(12);
    const asked = standIn.received(deaths).then(() => false);
    if (await Promise.race([asked, ended])) break;
    await deployment.kill(deployment.serve);
    await deployment.restart();
    ended = readAlong(await deployment.get(`/agents/${deployment.agentId}/runs/${stream.runId}/events`)).over;
  }

  expect(await eventsOf(deployment, stream.runId)).toContain('"code":"crash_loop"');
  expect(standIn.requests.length).toBeGreaterThanOrEqual(4);
  // The reservations of unfinished turns were released.
  expect(await expectSoundRuns(deployment.databaseFile)).toEqual({ runs: 1, succeeded: 0 });
  expect(await deployment.admin("credits", "show", "--org", deployment.orgId)).toMatchObject({ balanceUsd: 100 });
});
