import { once } from "node:events";
import { join } from "node:path";
import { connect, type Socket } from "node:net";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { until } from "@patchbay/test-support/inbox";
import { startStandIn, type Script } from "@patchbay/test-support/providers";
import { heapBytes } from "@patchbay/test-support/figures";
import { startSystem } from "@patchbay/test-support/system";

const STEPS = 5;
const CALLS = 8;
const RESULT_UNITS = 200_000;
const READERS = 20;

/**
 * Eight parallel calls in each of five turns: 8 MB of results, sent once as events and once in the answer. The script counts
 * turns itself, since a conversation of this size is not sent completely.
 */
const script: Script = (_, turn) =>
  turn % (STEPS + 1) === 0
    ? { text: "Done." }
    : { calls: Array.from({ length: CALLS }, (_, index) => ({ name: "export", arguments: { part: index } })) };

const bigResults = defineService({
  name: "big",
  functions: [
    defineFunction({
      name: "export",
      description: "Exports a part.",
      input: { type: "object", properties: { part: { type: "number" } } },
      roles: everyone,
      handler: ({ part }) => `${Number(part)}`.repeat(RESULT_UNITS),
    }),
  ],
});

/** Requests the run's events and reads nothing of the response. */
async function stuckReader(system: { plane: { port: number } }, path: string, apiKey: string): Promise<Socket> {
  const socket = connect(system.plane.port, "127.0.0.1");
  socket.pause();
  await once(socket, "connect");
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${apiKey}\r\nconnection: close\r\n\r\n`);
  return socket;
}

async function readAll(socket: Socket): Promise<number> {
  let size = 0;
  socket.on("data", (bytes: Buffer) => (size += bytes.length));
  socket.resume();
  await once(socket, "close");
  return size;
}

test("clients that stop reading neither stop a run nor fill the memory, and lose no event", async () => {
  await using folder = await temporaryFolder();
  await using standIn = await startStandIn("openai-chat", script);
  const database = `sqlite:${join(folder.path, "data.db")}`;
  await using system = await startSystem({
    database,
    providers: standIn.config,
    service: bigResults,
    limits: { runResultBytes: 1_000_000_000, repeatedCalls: 1_000, repeatedReadCalls: 1_000 },
  });
  const alone = await system.query("Export");
  const idle = heapBytes();

  const response = await system.post(`/agents/${system.agentId}/query-stream`, { query: "Export" });
  const path = `/agents/${system.agentId}/runs/${response.headers.get("x-run-id")}/events`;
  const stuck = await Promise.all(Array.from({ length: READERS }, () => stuckReader(system, path, system.apiKey)));
  const read = await response.text();
  const usedBytes = heapBytes() - idle - read.length;

  const last = JSON.parse(read.slice(read.lastIndexOf("data: ") + 6)) as { type: string; executionTimeMs: number };
  expect(last.type).toBe("finalResponse");
  expect(read.length).toBeGreaterThan(2 * STEPS * CALLS * RESULT_UNITS);
  process.stderr.write(
    `slow-readers: ${alone.executionTimeMs} ms without, ${last.executionTimeMs} ms with, ${Math.round(usedBytes / 1e6)} MB\n`,
  );
  expect(usedBytes).toBeLessThan(60_000_000);
  const late = await Promise.all(Array.from({ length: READERS }, () => stuckReader(system, path, system.apiKey)));
  const open = async () =>
    (await (await system.get("/metrics")).text()).includes(`patchbay_streams_open ${2 * READERS}\n`);
  await until(open, "every stream");
  const lateBytes = heapBytes() - idle - read.length;
  process.stderr.write(`slow-readers: ${Math.round(lateBytes / 1e6)} MB with as many late readers\n`);
  expect(lateBytes).toBeLessThan(120_000_000);

  const patient = [stuck.shift()!, late.shift()!];
  for (const socket of [...stuck, ...late]) socket.destroy();
  const sizes = await Promise.all(patient.map(readAll));
  expect(Math.min(...sizes)).toBeGreaterThan(read.length);
});
