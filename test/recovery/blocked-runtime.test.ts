import { join } from "node:path";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test, vi } from "vitest";
import { startCommand, temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { printFigure, quantile } from "@patchbay/test-support/figures";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

const functionsPackage = fileURLToPath(import.meta.resolve("@patchbay/functions"));

/** The handler blocks until this file exists. */
const RELEASE = "release";

/** A service that blocks its whole process: no timer, heartbeat or cancellation runs in it. */
const blockingSource = `
import { existsSync } from "node:fs";
import { defineFunction, defineService, everyone } from ${JSON.stringify(functionsPackage)};

const input = { type: "object" };
let calls = 0;
const block = defineFunction({
  name: "block", description: "Blocks.", input, roles: everyone, timeoutMs: 1_000,
  handler() {
    const unchanged = new Int32Array(new SharedArrayBuffer(4));
    if (++calls === 1) while (!existsSync("${RELEASE}")) Atomics.wait(unchanged, 0, 0, 50);
    return calls;
  },
});
export default defineService({ name: "blocking", functions: [block] });
`;

const pong = defineFunction({
  name: "block",
  description: "Answers immediately.",
  input: { type: "object" },
  roles: everyone,
  handler: () => "moved",
});

/** Two agents on one control plane. The first one's runtime is a separate process that blocks. */
async function startTwoAgents(heartbeatMs: number) {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(await temporaryFolder());
  await writeFile(join(folder.path, "service.ts"), blockingSource);
  const standIn = opening.use(await startStandIn("anthropic", callThenAnswer([{ name: "block" }])));
  const system = opening.use(
    await startSystem({
      providers: standIn.config,
      heartbeatMs,
      reconnectMs: 1_000,
      service: defineService({ name: "moving", functions: [pong] }),
    }),
  );
  const { admin } = system.plane;
  const blocked = await admin.createAgent("Blocked", { orgId: system.orgId });
  const { runtimeKey } = await admin.createRuntimeKey({ agentId: blocked.agentId });
  const env = { PATCHBAY_URL: system.url, PATCHBAY_AGENT: blocked.agentId, PATCHBAY_RUNTIME_KEY: runtimeKey };
  const runtime = opening.use(startCommand(["connect", "service.ts", "--json"], { cwd: folder.path, env }));
  await runtime.seen(/^\{"ready".*\}$/m);
  const kept = opening.move();
  return {
    system,
    release: () => writeFile(join(folder.path, RELEASE), ""),
    async askBlocked() {
      const path = `/agents/${blocked.agentId}/query`;
      const response = await system.post(path, { query: "hi" }, { "x-api-key": blocked.apiKey });
      return (await response.json()) as { success: boolean; toolInteractions: { success: boolean; code?: string }[] };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** The latencies of queries to the other agent, sent one after another until `done`. */
async function latencies(ask: () => Promise<{ success: boolean }>, done: () => boolean): Promise<number[]> {
  const taken: number[] = [];
  while (!done()) {
    const began = performance.now();
    expect(await ask()).toMatchObject({ success: true });
    taken.push(performance.now() - began);
  }
  return taken;
}

test.concurrent.each([
  { heartbeatMs: 10_000, fate: "timed_out", how: "with its timeout, and keeps its connection" },
  { heartbeatMs: 200, fate: "outcome_unknown", how: "as unknown, after its connection misses heartbeats" },
])("a call whose runtime blocks its whole process ends $how", async ({ heartbeatMs, fate }) => {
  await using agents = await startTwoAgents(heartbeatMs);
  const began = performance.now();

  const answer = await agents.askBlocked();

  printFigure("blocked runtime", { code: fate, "answered after ms": Math.round(performance.now() - began) });
  expect(answer).toMatchObject({ toolInteractions: [{ success: false, code: fate }] });

  // The runtime serves again once it is no longer blocked, over its old connection or a new one.
  await agents.release();
  await vi.waitFor(async () => expect((await agents.askBlocked()).toolInteractions[0]?.success).toBe(true), {
    interval: 500,
  });
});

test("other agents are served while a runtime blocks its process", async () => {
  await using agents = await startTwoAgents(500);
  const ask = () => agents.system.query("hi");
  await latencies(ask, countdown(50));
  const before = await latencies(ask, countdown(200));
  let over = false;
  const blocked = agents.askBlocked().finally(() => (over = true));

  const during = await latencies(ask, () => over);
  await blocked;
  // The call has ended, and the process is still blocked.
  during.push(...(await latencies(ask, countdown(50))));

  const [p99, base] = [quantile(during, 0.99), quantile(before, 0.99)];
  printFigure("other agents meanwhile", {
    queries: during.length,
    "p99 ms": p99.toFixed(1),
    "p99 ms before": base.toFixed(1),
  });
});

function countdown(queries: number): () => boolean {
  let left = queries;
  return () => left-- === 0;
}
