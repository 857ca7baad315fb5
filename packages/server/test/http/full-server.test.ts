import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import type { HttpEnv } from "../../src/kernel/exchange.ts";
import { createHandlers } from "../../src/kernel/handlers.ts";
import { createHttpServer } from "../../src/kernel/server.ts";
import { silentLog } from "@patchbay/kit";

/** A server that accepts `most` connections, and how often it was full. */
async function serverWith(most: number) {
  const state = { full: 0, port: 0 };
  const app = new Hono<HttpEnv>().get("/", (c) => c.text("here"));
  const connections = { most, full: () => void state.full++ };
  const handlers = createHandlers({ app, upgrade: (_, socket) => socket.destroy(), log: silentLog });
  const server = createHttpServer({ handlers, log: silentLog, connections });
  state.port = (await server.listen({ port: 0, host: "127.0.0.1" })).port;
  onTestFinished(() => server.close());
  return state;
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

const get = (socket: Socket): Promise<string> => {
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return once(socket, "data").then(([data]) => String(data));
};

test("a request on a new connection is answered while silent connections fill the server", async () => {
  const server = await serverWith(16);
  const silent: Socket[] = [];
  for (let i = 0; i < 40; i++) silent.push(await open(server.port));

  const answer = await get(await open(server.port));

  expect(answer).toMatch(/^HTTP\/1.1 200 /);
  await expect.poll(() => silent.filter((socket) => socket.closed).length).toBeGreaterThanOrEqual(25);
  expect(silent[0]!.closed).toBe(true);
  expect(server.full).toBeGreaterThan(0);
});

test("a connection that has sent a request is not closed for new ones", async () => {
  const server = await serverWith(16);
  const used = [];
  for (let i = 0; i < 15; i++) {
    const socket = await open(server.port);
    await get(socket);
    used.push(socket);
  }
  expect(server.full).toBe(0);

  for (let i = 0; i < 20; i++) await open(server.port);

  await expect.poll(() => server.full).toBeGreaterThan(0);
  expect(await get(used[0]!)).toMatch(/^HTTP\/1.1 200 /);
});
