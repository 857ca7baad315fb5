import { connect as dial } from "node:net";
import { randomBytes, randomInt } from "node:crypto";
import { CLOSE_CODES } from "@patchbay/protocol";
import { expect, test, vi } from "vitest";
import { createDice } from "../../examples/retail-desk/data/dice.ts";
import { parseRuntimeFrame } from "@patchbay/gateway/frames";
import { parseControlPlaneFrame } from "@patchbay/runtime/connection/frames";
import { printFigure } from "@patchbay/test-support/figures";
import { dialGateway, joinGateway, helloFrom } from "@patchbay/test-support/fake-runtime";
import { fakeService } from "@patchbay/test-support/fake-service";
import { startSystem } from "@patchbay/test-support/system";

const PARSED = 40_000;
const SOCKETS = 1_500;
const CONNECTIONS = 300;
const MIB = 1_048_576;

/** Valid frames, which the test breaks at random places. */
const SAMPLES = [
  helloFrom("instance"),
  { type: "result", callId: "c", attempt: 1, outcome: { ok: true, value: { a: [1, 2, { b: "ü" }] } } },
  { type: "call", callId: "c", attempt: 1, function: "echo", arguments: {}, context: {}, threadId: "t", runId: "r" },
  { type: "prepared", id: "p", prepared: { ok: false, faults: [{ path: "a", message: "b" }] } },
].map((frame) => JSON.stringify(frame));
const SHARDS = [
  '{"__proto__":{"type":"hello"}}',
  '"',
  "\\",
  "[".repeat(200),
  "1e999",
  "\u0000",
  "null",
  ",",
  "}",
  "\ud800",
];

test("eighty thousand malformed frames break neither parser", () => {
  const seed = randomInt(2 ** 31);
  const dice = createDice(seed);
  let refused = 0;
  for (let index = 0; index < PARSED; index++) {
    const frame = dice.pick(SAMPLES);
    const at = dice.between(0, frame.length);
    const text = frame.slice(0, at) + dice.pick(SHARDS) + frame.slice(at + dice.between(0, 9));
    for (const parse of [parseRuntimeFrame, parseControlPlaneFrame]) if (!parse(text).ok) refused++;
  }
  expect(refused).toBeGreaterThan(PARSED);
  expect(({} as { type?: string }).type).toBeUndefined();
  printFigure("malformed frames at the parsers", { seed, frames: 2 * PARSED, refused, thrown: 0 });
});

test("sockets with random bytes and connections with bad frames are closed, and other runtimes stay connected", async () => {
  const limits = { hellosPerMinute: 2 * CONNECTIONS };
  await using system = await startSystem({ service: fakeService(), limits });
  const { port } = system.plane;
  const headers = { Authorization: `Bearer ${system.runtimeKey}` };
  const [starts, before] = [["", "GET /functions/connect HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: h\r\n"], rss()];

  async function sendBytes(index: number): Promise<void> {
    const socket = dial({ port, host: "127.0.0.1" });
    socket.on("error", () => {}).resume();
    socket.end(Buffer.concat([Buffer.from(starts[index % starts.length]!), randomBytes(index % 400)]));
    await new Promise((resolve) => socket.once("close", resolve));
  }
  await inTurns(SOCKETS, 50, sendBytes);

  const codes = new Map<number, number>();
  async function sendBadFrames(index: number): Promise<void> {
    const runtime =
      index % 3 === 0 ? dialGateway(port, headers) : await joinGateway(port, helloFrom(`bad-${index}`), headers);
    if (index % 3 === 0) await new Promise((resolve) => runtime.socket.once("open", resolve));
    for (let sent = 0; sent < 50; sent++) runtime.send(SHARDS[sent % SHARDS.length]!);
    const { code } = await runtime.closed;
    codes.set(code, (codes.get(code) ?? 0) + 1);
  }
  await inTurns(CONNECTIONS, 30, sendBadFrames);

  expect([...codes.keys()]).toEqual([CLOSE_CODES.badFrame]);
  await vi.waitFor(() => expect(system.plane.connectedRuntimes(system.agentId)).toBe(1));
  const grown = (rss() - before) / MIB;
  printFigure("bad bytes and frames", {
    sockets: SOCKETS,
    connections: CONNECTIONS,
    frames: 50 * CONNECTIONS,
    "MiB grown": Math.round(grown),
  });
  expect(grown).toBeLessThan(100);
});

const rss = (): number => process.memoryUsage.rss();

async function inTurns(count: number, atOnce: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
