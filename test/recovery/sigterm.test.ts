import { join } from "node:path";
import { expect, test } from "vitest";
import { startCommand } from "../../packages/cli/test/support/command.ts";
import { printFigure } from "@patchbay/test-support/figures";
import { until } from "@patchbay/test-support/inbox";
import { expectSoundRuns } from "../support/invariants.ts";
import { startDeployment, type Running } from "../support/processes.ts";
import { startStandIn, type Script } from "@patchbay/test-support/providers";
import { readAlong } from "@patchbay/test-support/reader";

/** Calls `charge` for each id that the query names. */
const script: Script = ({ step, query, results }) =>
  step === 0
    ? { calls: query.split(" ").map((id) => ({ name: "charge", arguments: { id } })) }
    : { text: `Done: ${results.length}.` };

async function terminate(command: Running): Promise<{ code: number | null; ms: number }> {
  const began = performance.now();
  command.process.kill("SIGTERM");
  const { code } = await command.finished;
  return { code, ms: performance.now() - began };
}

test.concurrent("serve lets its runs end, and exits with 0", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using deployment = await startDeployment({ env: standIn.env });
  await using _runtime = await deployment.connect();
  const stream = readAlong(await deployment.post(`/agents/${deployment.agentId}/query-stream`, { query: "held-1" }));
  await until(() => deployment.functionRuns().length === 1, "the call");

  const ended = terminate(deployment.serve);
  const refuses = () =>
    fetch(`${deployment.url}/healthz`).then(
      () => false,
      () => true,
    );
  await until(refuses, "the drain");
  await deployment.open("held-1");

  expect(await stream.over).toBe(true);
  expect(stream.text).toContain('"response":"Done: 1."');
  expect((await ended).code).toBe(0);
});

test.concurrent("a run that outlasts the drain continues after the next start, with its call and its client", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using deployment = await startDeployment({ env: standIn.env });
  await using _runtime = await deployment.connect();
  const stream = readAlong(await deployment.post(`/agents/${deployment.agentId}/query-stream`, { query: "held-1 b" }));
  await stream.seen(/"type":"toolResult"/);

  expect((await terminate(deployment.serve)).code).toBe(0);
  expect(await stream.over).toBe(true);
  expect(stream.text).toMatch(/\n\nretry: 1000\n\n$/);

  await deployment.restart();
  const path = `/agents/${deployment.agentId}/runs/${stream.runId}/events`;
  const rest = readAlong(await deployment.get(path, { "last-event-id": String(stream.lastId) }));
  await deployment.open("held-1");
  expect(await rest.over).toBe(true);
  expect(rest.text).toContain('"response":"Done: 2."');
  expect(deployment.functionRuns().map(({ attempt }) => attempt)).toEqual([1, 1]);
  expect(await expectSoundRuns(deployment.databaseFile)).toEqual({ runs: 1, succeeded: 1 });
});

test.concurrent("connect finishes its calls, accepts no further ones, and exits with 0", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using deployment = await startDeployment({ env: standIn.env });
  const runtime = await deployment.connect("--concurrency", "1000");
  const ids = Array.from({ length: 50 }, (_, index) => `held-${index}`);
  // Two turns, since one turn may make 32 calls.
  const asked = Promise.all([deployment.query(ids.slice(0, 25).join(" ")), deployment.query(ids.slice(25).join(" "))]);
  await until(() => deployment.functionRuns().length === ids.length, "the calls");

  const ended = terminate(runtime);
  // Without the drain, the first runtime would get all but one of these calls.
  await using next = await deployment.connect("--concurrency", "1");
  const later = await deployment.query("a b c");
  await Promise.all(ids.map((id) => deployment.open(id)));

  const made = (await asked).flatMap(({ toolInteractions }) => toolInteractions);
  expect(made.map(({ success }) => success)).toEqual(ids.map(() => true));
  expect(later.toolInteractions.map(({ success }) => success)).toEqual([true, true, true]);
  const { code, ms } = await ended;
  const runs = deployment.functionRuns();
  printFigure("SIGTERM of a runtime", {
    calls: ids.length,
    finished: made.length,
    "exit ms": Math.round(ms),
  });
  expect(code).toBe(0);
  expect(runs).toHaveLength(ids.length + 3);
  expect(runs.slice(-3).map(({ pid }) => pid)).toEqual([1, 2, 3].map(() => next.process.pid));
});

test.concurrent("dev exits with 0 and leaves no function process behind", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using deployment = await startDeployment({ env: standIn.env });
  const folder = join(deployment.databaseFile, "..");
  const args = ["dev", "service.ts", "--port", "0", "--json", "--data-dir", join(folder, "dev")];
  await using dev = startCommand(args, { cwd: folder, env: standIn.env });
  const ready = JSON.parse(await dev.seen(/^\{"ready".*\}$/m)) as { baseUrl: string; agentId: string; apiKey: string };
  const asked = fetch(`${ready.baseUrl}/agents/${ready.agentId}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": ready.apiKey },
    body: JSON.stringify({ query: "held-1" }),
  });
  await until(() => deployment.functionRuns().length === 1, "the call");
  const [{ pid } = { pid: 0 }] = deployment.functionRuns();

  const ended = terminate(dev);
  await deployment.open("held-1");

  expect(await (await asked).json()).toMatchObject({ success: true });
  expect((await ended).code).toBe(0);
  expect(pid).not.toBe(dev.process.pid);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});
