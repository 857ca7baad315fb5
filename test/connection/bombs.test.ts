import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { createHash } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { connect, silentLog } from "@patchbay/functions";
import { expect, test } from "vitest";
import { printFigure } from "@patchbay/test-support/figures";
import { fakeService } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { dialRaw, rawFrame } from "../support/raw-websocket.ts";
import { startSystem } from "@patchbay/test-support/system";

const MIB = 1_048_576;
const filler = Buffer.alloc(65_536, 97);
const bomb = deflateRawSync(Buffer.alloc(256 * MIB));

/** Frames that an end of a connection must refuse, as bytes. */
const BOMBS: Record<string, (mask: boolean) => Iterable<Buffer>> = {
  "a frame that was compressed from 256 MiB": (mask) => [rawFrame(bomb, { compressed: true, mask })],
  "a frame of 100 MiB": function* (mask) {
    yield rawFrame(Buffer.of(), { claimed: 100 * MIB, mask });
    for (let sent = 0; sent < 1_600; sent++) yield filler;
  },
  "a message of a million tiny fragments": function* (mask) {
    yield rawFrame(Buffer.from("a"), { final: false, mask });
    const thousand = Buffer.concat(
      Array.from({ length: 1_000 }, () => rawFrame(Buffer.from("a"), { opcode: 0, final: false, mask })),
    );
    for (let sent = 0; sent < 1_000; sent++) yield thousand;
  },
  "a message of a million empty fragments": function* (mask) {
    yield rawFrame(Buffer.of(), { final: false, mask });
    const thousand = Buffer.concat(
      Array.from({ length: 1_000 }, () => rawFrame(Buffer.of(), { opcode: 0, final: false, mask })),
    );
    for (let sent = 0; sent < 1_000; sent++) yield thousand;
  },
};

/** Highest growth of the memory of this process during `work`. Both ends run in it. */
async function grownBytes(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage.rss();
  let most = before;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 1);
  await work().finally(() => clearInterval(watch));
  return Math.max(most, process.memoryUsage.rss()) - before;
}

async function sendTo(socket: NodeJS.WritableStream & { destroyed?: boolean }, bytes: Iterable<Buffer>): Promise<void> {
  for (const piece of bytes) {
    if (socket.destroyed) return;
    if (!socket.write(piece)) await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => {});
  }
}

test.each(Object.keys(BOMBS))("the control plane refuses %s, and continues to serve", async (name) => {
  await using system = await startSystem({ service: fakeService() });
  using raw = await dialRaw(system.plane.port, system.runtimeKey, "permessage-deflate");
  expect(raw.head).toMatch(/^HTTP\/1\.1 101 /);
  expect(raw.head).not.toMatch(/permessage-deflate/i);

  const grown = await grownBytes(async () => {
    await Promise.all([sendTo(raw.socket, BOMBS[name]!(true)), raw.closed]);
  });

  printFigure("bombs at the control plane", { bomb: name, "MiB grown": (grown / MIB).toFixed(1) });
  expect(grown).toBeLessThan(20 * MIB);
  expect(system.plane.connectedRuntimes(system.agentId)).toBe(1);
});

/** A control plane that accepts the upgrade, with compression, and sends these bytes to its runtime. */
async function startHostilePlane(bytes: (mask: boolean) => Iterable<Buffer>) {
  let connections = 0;
  let ended = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {}).on("close", () => ended++);
    let head = "";
    socket.on("data", function upgrade(chunk: Buffer) {
      head += chunk.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      socket.off("data", upgrade).resume();
      connections++;
      const key = /sec-websocket-key: (\S+)/i.exec(head)?.[1] ?? "";
      const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
      );
      void sendTo(socket, bytes(false));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    get ended() {
      return ended;
    },
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

test.each(Object.keys(BOMBS))("a runtime refuses %s, and connects again", async (name) => {
  await using plane = await startHostilePlane(BOMBS[name]!);
  const grown = await grownBytes(async () => {
    const runtime = connect(fakeService(), {
      url: plane.url,
      key: "key-of-a",
      log: silentLog,
      backoff: { firstMs: 50, baseMs: 50, maxMs: 50 },
    });
    await until(() => plane.connections >= 2, "a second connection");
    await runtime.stop({ drainMs: 0 });
  });

  printFigure("bombs at a runtime", { bomb: name, "MiB grown": (grown / MIB).toFixed(1) });
  expect(grown).toBeLessThan(20 * MIB);
  await until(() => plane.ended === plane.connections, "the close of every connection");
});
