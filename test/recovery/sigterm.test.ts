import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { startCommand } from "../../packages/cli/test/support/command.ts";
import { printFigure } from "../support/figure.ts";
import { until } from "../support/inbox.ts";
import { expectSoundRuns } from "../support/invariants.ts";
import { startDeployment, type Running } from "../support/processes.ts";
import { startStandIn, type Script } from "../support/providers/index.ts";
import { readAlong } from "../support/reader.ts";

vi.setConfig({ testTimeout: 180_000 });

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

test.concurrent("serve ends with 0 as soon as the runs in progress have ended", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using desk = await startDeployment({ env: standIn.env });
  await using _runtime = await desk.connect();
  const stream = readAlong(await desk.post(`/agents/${desk.agentId}/query-stream`, { query: "held-1" }));
  await until(() => desk.functionRuns().length === 1, "the call");

  const ended = terminate(desk.serve);
  const refuses = () =>
    fetch(`${desk.url}/healthz`).then(
      () => false,
      () => true,
    );
  await until(refuses, "the drain");
  await desk.open("held-1");

  expect(await stream.over).toBe(true);
  expect(stream.text).toContain('"response":"Done: 1."');
  const { code, ms } = await ended;
  expect(code).toBe(0);
  expect(ms).toBeLessThan(10_000);
});

test.concurrent("a run that outlasts the drain is left to the next start, its call and its client included", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using desk = await startDeployment({ env: standIn.env });
  await using _runtime = await desk.connect();
  const stream = readAlong(await desk.post(`/agents/${desk.agentId}/query-stream`, { query: "held-1 b" }));
  await stream.seen(/"type":"toolResult"/);

  const { code, ms } = await terminate(desk.serve);

  expect(code).toBe(0);
  expect(ms).toBeLessThan(25_000);
  expect(await stream.over).toBe(true);
  expect(stream.text).toMatch(/\n\nretry: 1000\n\n$/);

  await desk.restart();
  const path = `/agents/${desk.agentId}/runs/${stream.runId}/events`;
  const rest = readAlong(await desk.get(path, { "last-event-id": String(stream.lastId) }));
  await desk.open("held-1");
  expect(await rest.over).toBe(true);
  expect(rest.text).toContain('"response":"Done: 2."');
  expect(desk.functionRuns().map(({ attempt }) => attempt)).toEqual([1, 1]);
  expect(expectSoundRuns(desk.databaseFile)).toEqual({ runs: 1, succeeded: 1 });
});

test.concurrent("connect finishes the calls it runs, takes no further ones, and ends with 0", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using desk = await startDeployment({ env: standIn.env });
  const runtime = await desk.connect("--concurrency", "1000");
  const ids = Array.from({ length: 50 }, (_, index) => `held-${index}`);
  // Two turns, for one turn may make 32 calls.
  const asked = Promise.all([desk.query(ids.slice(0, 25).join(" ")), desk.query(ids.slice(25).join(" "))]);
  await until(() => desk.functionRuns().length === ids.length, "the calls");

  const ended = terminate(runtime);
  // By its load the first one would be given all but one of these calls.
  await using next = await desk.connect("--concurrency", "1");
  const later = await desk.query("a b c");
  await Promise.all(ids.map((id) => desk.open(id)));

  const made = (await asked).flatMap(({ toolInteractions }) => toolInteractions);
  expect(made.map(({ success }) => success)).toEqual(ids.map(() => true));
  expect(later.toolInteractions.map(({ success }) => success)).toEqual([true, true, true]);
  const { code, ms } = await ended;
  const runs = desk.functionRuns();
  printFigure("18 SIGTERM of a runtime", {
    calls: ids.length,
    finished: made.length,
    "exit ms": Math.round(ms),
  });
  expect(code).toBe(0);
  expect(ms).toBeLessThan(10_000);
  expect(runs).toHaveLength(ids.length + 3);
  expect(runs.slice(-3).map(({ pid }) => pid)).toEqual([1, 2, 3].map(() => next.process.pid));
});

test.concurrent("dev ends with 0 and leaves no process of functions behind", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using desk = await startDeployment({ env: standIn.env });
  const folder = join(desk.databaseFile, "..");
  const args = ["dev", "service.ts", "--port", "0", "--json", "--data-dir", join(folder, "dev")];
  await using dev = startCommand(args, { cwd: folder, env: standIn.env });
  const ready = JSON.parse(await dev.seen(/^\{"ready".*\}$/m)) as { baseUrl: string; agentId: string; apiKey: string };
  const asked = fetch(`${ready.baseUrl}/agents/${ready.agentId}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": ready.apiKey },
    body: JSON.stringify({ query: "held-1" }),
  });
  await until(() => desk.functionRuns().length === 1, "the call");
  const [{ pid } = { pid: 0 }] = desk.functionRuns();

  const ended = terminate(dev);
  await desk.open("held-1");

  expect(await (await asked).json()).toMatchObject({ success: true });
  expect((await ended).code).toBe(0);
  expect(pid).not.toBe(dev.process.pid);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});
