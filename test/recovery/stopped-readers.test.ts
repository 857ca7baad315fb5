import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test, vi } from "vitest";
import type { ChosenModel } from "@patchbay/engine/ports/model-provider";
import { scriptedModel } from "../../packages/engine/test/run/scripted-model.ts";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { heapBytes, printFigure } from "@patchbay/test-support/figures";
import { startSystem } from "@patchbay/test-support/system";
import { callsOnce } from "../support/call-models.ts";

const STEPS = 10;
const CALLS = 25;
const RESULT_UNITS = 200_000;
const READERS = 10;
const MIB = 1_048_576;

const service = defineService({
  name: "big",
  functions: [
    defineFunction({
      name: "export",
      description: "Exports a part.",
      input: { type: "object" },
      roles: everyone,
      handler: () => "x".repeat(RESULT_UNITS),
    }),
  ],
});

/** 50 MB of results, then a turn without an answer, so that the memory for readers can be measured during the run. */
function exporting() {
  let turn = 0;
  const { catalog } = scriptedModel(() =>
    turn++ % (STEPS + 1) === STEPS
      ? { until: new Promise(() => {}) }
      : { calls: Array.from({ length: CALLS }, () => ["export", {}] as const) },
  );
  return (catalog.choose() as ChosenModel).provider;
}

/** The size of the heap once it stops shrinking: a response is freed a moment after it was sent. */
async function settledHeapBytes(): Promise<number> {
  for (let before = heapBytes(); ;) {
    await wait(200);
    const now = heapBytes();
    if (now > before - MIB) return now;
    before = now;
  }
}

/** A process that reads each of the URLs for a while, until it is stopped. */
async function startReaders(url: string, apiKey: string) {
  const args = ["-sN", "--parallel", "--parallel-immediate", "-H", `x-api-key: ${apiKey}`];
  const child = spawn("curl", [...args, ...Array.from({ length: READERS }, () => url)], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  child.stdout.resume();
  await once(child.stdout, "data");
  child.kill("SIGSTOP");
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await once(child, "close");
    },
  };
}

test("readers whose process is stopped neither block a run of 50 MB of events nor keep its memory", async () => {
  await using folder = await temporaryFolder();
  await using system = await startSystem({
    database: `sqlite:${join(folder.path, "data.db")}`,
    model: exporting(),
    service,
    limits: { runResultBytes: 1_000_000_000, repeatedCalls: 1_000, repeatedReadCalls: 1_000 },
  });
  const path = `/agents/${system.agentId}`;

  /** The time until the last result is stored. */
  async function run(meanwhile: (events: string) => Promise<void>): Promise<number> {
    const leaving = new AbortController();
    const response = await fetch(`${system.url}${path}/query-stream`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": system.apiKey },
      body: JSON.stringify({ query: "Export" }),
      signal: leaving.signal,
    });
    const began = performance.now();
    const runId = response.headers.get("x-run-id") ?? "";
    await meanwhile(`${system.url}${path}/runs/${runId}/events`);
    // Two events per call; no other client reads to the end.
    leaving.abort();
    for (;;) {
      const stored = await system.plane.store.runs.get(system.agentId, runId);
      if ((stored?.lastSeq ?? 0) >= 2 * STEPS * CALLS) break;
      await wait(5);
    }
    return performance.now() - began;
  }

  await run(async () => {});
  const withoutReaders = await run(async () => {});
  await using readers = new AsyncDisposableStack();
  let startedIn = 0;
  const withReaders = await run(async (events) => {
    const began = performance.now();
    readers.use(await startReaders(events, system.apiKey));
    startedIn = performance.now() - began;
  });
  const streams = (count: number) =>
    vi.waitFor(async () =>
      expect(await (await system.get("/metrics")).text()).toContain(`patchbay_streams_open ${count}\n`),
    );
  await streams(READERS);
  const withThem = await settledHeapBytes();
  await readers.disposeAsync();
  await streams(0);
  const heldEach = (withThem - (await settledHeapBytes())) / READERS;

  printFigure("stopped readers", {
    readers: READERS,
    MB: (STEPS * CALLS * RESULT_UNITS) / 1e6,
    "run ms without readers": Math.round(withoutReaders),
    "run ms with readers": Math.round(withReaders - startedIn),
    "KiB for each reader": Math.round(heldEach / 1024),
  });
  // At most a page of four events, and the largest result is 256 KiB.
  expect(heldEach).toBeLessThan(1.5 * MIB);
});

test("1,000 streams whose clients die at the same time leave no memory and no timer", async () => {
  const held = new Promise<void>(() => {});
  const holding = defineService({
    name: "holding",
    functions: [
      defineFunction({
        name: "hold",
        description: "Holds.",
        input: { type: "object" },
        roles: everyone,
        handler: (_input, { signal }) => Promise.race([held, once(signal, "abort").then(() => "stopped")]),
      }),
    ],
  });
  await using system = await startSystem({
    model: callsOnce("hold"),
    service: holding,
    runTimeoutMs: 240_000,
    limits: { streamsPerRun: 2_000, streamsPerKey: 2_000 },
  });
  const response = await system.post(`/agents/${system.agentId}/query-stream`, { query: "hi" });
  const runId = response.headers.get("x-run-id");
  const path = `/agents/${system.agentId}/runs/${runId}/events`;
  const openStreams = async () =>
    Number(/^patchbay_streams_open (\d+)$/m.exec(await (await system.get("/metrics")).text())?.[1]);
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;

  async function openAndDrop(count: number) {
    const sockets = Array.from({ length: count }, (): Socket => {
      const socket = connect(system.plane.port, "127.0.0.1");
      socket.on("error", () => {}).resume();
      socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${system.apiKey}\r\n\r\n`);
      return socket;
    });
    await vi.waitFor(async () => expect(await openStreams()).toBe(count + 1));
    const droppedAt = performance.now();
    for (const socket of sockets) socket.resetAndDestroy();
    await vi.waitFor(async () => expect(await openStreams()).toBe(1), { interval: 20 });
    return performance.now() - droppedAt;
  }
  await openAndDrop(200);
  const [heapBefore, timersBefore] = [await settledHeapBytes(), timers()];

  const freedInMs = await openAndDrop(1_000);

  // The service's own loops start timers too; one per stream would make a thousand.
  await vi.waitFor(() => expect(timers()).toBeLessThan(timersBefore + 20));
  const heapAfter = await settledHeapBytes();
  printFigure("streams die at the same time", {
    streams: 1_000,
    "freed in ms": Math.round(freedInMs),
    "timers left": Math.max(0, timers() - timersBefore),
    "heap MB before": (heapBefore / 1e6).toFixed(1),
    after: (heapAfter / 1e6).toFixed(1),
  });
  expect(heapAfter).toBeLessThan(1.1 * heapBefore + 2_000_000);
});
