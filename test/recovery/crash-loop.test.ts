import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect, defineFunction, defineService, everyone, silentLog } from "@patchbay/functions";
import type { RunDetail } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { expectSoundRuns } from "../support/invariants.ts";
import { startDeployment, type Deployment } from "../support/processes.ts";
import { startStandIn } from "@patchbay/test-support/providers";
import { readAlong, type Reader } from "@patchbay/test-support/reader";

const RESULT_BYTES = 250_000;

/** A runtime in this process whose function returns a large result. */
async function connectLarge({ url, agentId, runtimeKey: key }: Deployment, onCall: () => void = () => {}) {
  const large = defineFunction({
    name: "large",
    description: "Returns a large text.",
    input: { type: "object", properties: { n: { type: "number" } } },
    roles: everyone,
    idempotent: true,
    handler() {
      onCall();
      return "x".repeat(RESULT_BYTES);
    },
  });
  const backoff = { firstMs: 20, baseMs: 50, maxMs: 500 };
  const service = defineService({ name: "large", functions: [large] });
  const runtime = connect(service, { url, agentId, key, log: silentLog, backoff, concurrency: 16 });
  await runtime.ready;
  return { [Symbol.asyncDispose]: () => runtime.stop({ drainMs: 0 }) };
}

const calls = (step: number, count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: "large", arguments: { n: step * count + n } }));

async function ask(deployment: Deployment, query: string): Promise<Reader> {
  return readAlong(await deployment.post(`/agents/${deployment.agentId}/query-stream`, { query }));
}

async function detailOf(
  deployment: Deployment,
  { runId }: { runId: string },
): Promise<{ bytes: number; run: RunDetail }> {
  const response = await deployment.get(`/agents/${deployment.agentId}/runs/${runId}`);
  const text = await response.text();
  return { bytes: Buffer.byteLength(text), run: JSON.parse(text) as RunDetail };
}

/** Follows the run to its end, and restarts the control plane whenever it exits. */
async function restartUntilEnded(deployment: Deployment, { runId }: { runId: string }): Promise<number> {
  for (let ends = 0; ; ends++) {
    const log = await deployment.get(`/agents/${deployment.agentId}/runs/${runId}/events`).catch(() => undefined);
    const reader = log && readAlong(log);
    if ((await reader?.over) && /"type":"(finalResponse|error)"/.test(reader!.text)) return ends;
    await deployment.serve.finished;
    await deployment.restart();
  }
}

test("a run far beyond its limits neither ends its process nor returns more than 9 MiB", async () => {
  await using standIn = await startStandIn("openai-chat", (_request, turn) =>
    turn <= 4 ? { calls: calls(turn, 200) } : { text: "Done." },
  );
  await using deployment = await startDeployment({ env: { ...standIn.env, NODE_OPTIONS: "--max-old-space-size=256" } });
  let called = 0;
  await using _runtime = await connectLarge(deployment, () => called++);

  const answer = await deployment.query("Get it all");

  expect(answer).toMatchObject({ success: true, response: "Done." });
  expect(answer.toolInteractions).toHaveLength(800);
  expect(called).toBe(4 * 32);
  const { bytes, run } = await detailOf(deployment, { runId: answer.runId });
  expect(run.status).toBe("succeeded");
  expect(bytes).toBeLessThan(9 * 1_048_576);
  expect(deployment.serve.process.exitCode).toBeNull();
});

test("a run that crashes its process is ended, and other runs are not affected", async () => {
  const asked: Record<string, number> = { poison: 0, innocent: 0 };
  let kill = async (): Promise<void> => {};
  await using standIn = await startStandIn("anthropic", async ({ query, step }) => {
    asked[query] = (asked[query] ?? 0) + 1;
    if (query === "poison" && step > 0) {
      await kill();
      return new Promise(() => {});
    }
    if (step === 0) return { calls: [{ name: "charge", arguments: { id: query } }] };
    return { text: `Done: ${query}.` };
  });
  await using deployment = await startDeployment({ env: standIn.env });
  await using _runtime = await deployment.connect();
  // Simulates an answer that crashes the process: the run stores a step, then the process exits, each time.
  kill = async () => void deployment.serve.process.kill("SIGKILL");
  const innocents = await Promise.all(["held-1", "held-2", "held-3"].map((query) => ask(deployment, query)));

  const poison = await ask(deployment, "poison");
  const ends = await restartUntilEnded(deployment, poison);

  expect(ends).toBeGreaterThanOrEqual(4);
  expect(await detailOf(deployment, poison)).toMatchObject({
    run: { status: "failed", result: { code: "crash_loop" } },
  });
  for (const id of ["held-1", "held-2", "held-3"]) await deployment.open(id);
  for (const innocent of innocents) {
    const log = readAlong(await deployment.get(`/agents/${deployment.agentId}/runs/${innocent.runId}/events`));
    expect(await log.over).toBe(true);
    expect(log.text).toContain('"type":"finalResponse"');
  }
  expect(
    deployment
      .functionRuns()
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(["held-1", "held-2", "held-3", "poison"]);
  expect(await expectSoundRuns(deployment.databaseFile)).toEqual({ runs: 4, succeeded: 3 });
});

test("a run that no process can load into memory is ended by its counters", async () => {
  await using folder = await temporaryFolder();
  const limits = join(folder.path, "limits.json");
  const unlimited = { callsPerTurn: 1_000, callsPerRun: 100_000, runResultBytes: 1_000_000_000 };
  await writeFile(limits, JSON.stringify(unlimited));
  let poisons = true;
  await using standIn = await startStandIn("openai-chat", (_request, turn) =>
    poisons ? { calls: calls(turn, 60) } : { text: "Still there." },
  );
  await using deployment = await startDeployment({
    env: { ...standIn.env, NODE_OPTIONS: "--max-old-space-size=96" },
    serveArgs: ["--limits", limits],
  });
  await using _runtime = await connectLarge(deployment);

  const poison = await ask(deployment, "Get it all");
  const ends = await restartUntilEnded(deployment, poison);

  const { run, bytes } = await detailOf(deployment, poison);
  expect(run).toMatchObject({ status: "failed", result: { code: "crash_loop", toolInteractions: [] } });
  expect(ends).toBeGreaterThanOrEqual(4);
  expect(bytes).toBeLessThan(10_000);
  poisons = false;
  expect(await deployment.query("Are you there?")).toMatchObject({ success: true, response: "Still there." });
});
