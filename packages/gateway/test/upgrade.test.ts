import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { ErrorBody, LIMITS, CLOSE_CODES, FRAMES_VERSION } from "@patchbay/protocol";
import { afterEach, expect, test } from "vitest";
import { startGateway, type GatewayServer } from "@patchbay/test-support/gateway-server";
import { dialGateway, joinGateway, helloFrom } from "@patchbay/test-support/fake-runtime";
import { until } from "@patchbay/test-support/inbox";
import { silentMetrics } from "@patchbay/engine/ports/metrics";
import { recordingLog } from "../../engine/test/run/core.ts";
import { refusedHello } from "./hand-calls.ts";

let server: GatewayServer;

afterEach(() => server[Symbol.asyncDispose]());

/** Sends an upgrade request over plain HTTP and reads the refusal. */
async function refusalOf(headers: Record<string, string>, path = "/functions/connect") {
  const asked = request({
    port: server.port,
    host: "127.0.0.1",
    path,
    headers: {
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
      ...headers,
    },
  }).end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, headers: response.headers, body: ErrorBody.parse(JSON.parse(text)) };
}

test.each([
  ["no key", {}],
  ["an unknown key", { Authorization: "Bearer nonsense" }],
  ["a key that is not a bearer token", { Authorization: "Basic key-of-a" }],
])("%s is refused with 401", async (_, headers) => {
  server = await startGateway();

  const { status, body } = await refusalOf(headers);

  expect(status).toBe(401);
  expect(body).toMatchObject({ success: false, code: "authentication_failed", errorMessage: "Authentication failed" });
});

test("any Origin header is refused with 403, also with a valid key", async () => {
  server = await startGateway();

  const { status, body } = await refusalOf({ Authorization: "Bearer key-of-a", Origin: "http://127.0.0.1" });

  expect(status).toBe(403);
  expect(body.errorMessage).toContain("Origin");
});

test("a key of another agent than X-Agent-Id is refused with 403", async () => {
  server = await startGateway();

  const refused = await refusalOf({ Authorization: "Bearer key-of-a", "X-Agent-Id": "agent-b", "X-Request-Id": "r-1" });

  expect(refused).toMatchObject({ status: 403, body: { code: "agent_mismatch", requestId: "r-1" } });
  expect(refused.headers["x-request-id"]).toBe("r-1");
});

test("a refusal is a line in the log, found by its request id, and is counted by its reason", async () => {
  const log = recordingLog();
  const counted: string[] = [];
  const metrics = { ...silentMetrics, runtimeRefused: (reason: string) => void counted.push(reason) };
  server = await startGateway({ log, metrics });
  server.keys.set("labelled", { keyId: "k9", label: "the shop", agentId: "agent-a", orgId: "org" });
  const { body } = await refusalOf({ Authorization: "Bearer nonsense" });
  await refusalOf({ Authorization: "Bearer nonsense", "X-Request-Id": "r-1" });
  await refusalOf({ Authorization: "Bearer labelled", "X-Agent-Id": "agent-b", "X-Request-Id": "r-2" });
  await refusalOf({ Authorization: "Bearer labelled" }, "/elsewhere");

  const unknown = { status: 401, code: "authentication_failed" };
  const other = { status: 403, code: "agent_mismatch", agentId: "agent-a", keyId: "k9", keyLabel: "the shop" };
  expect(log.lines.slice(0, 3)).toEqual(
    [
      { requestId: body.requestId, ...unknown },
      { requestId: "r-1", ...unknown },
      { requestId: "r-2", ...other },
    ].map((fields) => ({ message: "request", fields: { method: "GET", route: "/functions/connect", ...fields } })),
  );
  expect(counted).toEqual(["authentication_failed", "authentication_failed", "agent_mismatch"]);
});

test("another path is refused with 404", async () => {
  server = await startGateway();

  expect(await refusalOf({ Authorization: "Bearer key-of-a" }, "/elsewhere")).toMatchObject({ status: 404 });
});

test("a failed key lookup is answered with 503 and Retry-After", async () => {
  server = await startGateway({ authenticate: () => Promise.reject(new Error("store is down")) });

  const { status, headers, body } = await refusalOf({ Authorization: "Bearer key-of-a" });

  expect(status).toBe(503);
  expect(headers["retry-after"]).toBe("1");
  expect(JSON.stringify(body)).not.toContain("store is down");
});

test("a control plane that is going away refuses new connections and keeps the open ones", async () => {
  server = await startGateway();
  const runtime = await joinGateway(server.port);

  server.gateway.goingAway();

  await runtime.next("goingAway");
  expect(await refusalOf({ Authorization: "Bearer key-of-a" })).toMatchObject({ status: 503 });
  expect(await server.gateway.connected("agent-a")).toBe(true);
});

test("a hello is answered with a welcome, and its function set gets the same hash in any order of properties", async () => {
  server = await startGateway({ heartbeatMs: 1_234 });
  const hello = helloFrom("instance-1");
  const reversed = Object.fromEntries(Object.entries(hello.manifest).reverse());

  await joinGateway(server.port, hello);
  const second = dialGateway(server.port);
  second.socket.once("open", () => second.send({ ...hello, instanceId: "instance-2", manifest: reversed }));

  expect(await second.next("welcome")).toMatchObject({ agentId: "agent-a", heartbeatMs: 1_234 });
  expect(server.store.opened).toMatchObject([{ instanceId: "instance-1", replicaId: "replica-1" }, {}]);
  const [first, other] = server.store.opened.map(({ manifestHash }) => manifestHash);
  expect(first).toBe(other);
  expect(await server.store.getManifest("agent-a", first!)).toEqual(hello.manifest);
  expect(server.gateway.connectionCount()).toBe(2);
});

test("a connection without a hello is closed", async () => {
  server = await startGateway({ helloMs: 30 });

  const { closed } = dialGateway(server.port);

  expect(await closed).toMatchObject({ code: CLOSE_CODES.helloTimeout });
});

const manifest = helloFrom("x").manifest;
const [echo] = manifest.functions;
const large = { ...echo, inputSchema: { description: "x".repeat(LIMITS.schemaBytes) } };

test.each([
  ["another version", "wrongVersion", { version: FRAMES_VERSION + 1, manifest: "of the future" }],
  ["a manifest of the wrong shape", "manifestRefused", { manifest: { name: 1 } }],
  ["two functions with one name", "manifestRefused", { manifest: { ...manifest, functions: [echo, echo] } }],
  ["a schema over its limit", "manifestRefused", { manifest: { ...manifest, functions: [large] } }],
  ["no concurrency", "badFrame", { concurrency: 0 }],
  ["another frame first", "badFrame", { type: "draining" }],
] as const)("a hello with %s is refused with a reason", async (_, reason, change) => {
  server = await startGateway();

  const { code, reason: text } = await refusedHello(server.port, { ...helloFrom("instance-1"), ...change });

  expect(code).toBe(CLOSE_CODES[reason]);
  expect(text).not.toBe("");
  expect(await server.gateway.connected("agent-a")).toBe(false);
});

test("a frame above the limit closes the connection", async () => {
  server = await startGateway();
  const runtime = await joinGateway(server.port);

  runtime.send(`"${"x".repeat(LIMITS.frameBytes)}"`);

  expect(await runtime.closed).toMatchObject({ code: 1009 });
});

test("ten malformed frames close the connection, nine do not", async () => {
  server = await startGateway();
  const runtime = await joinGateway(server.port);
  for (let i = 0; i < 9; i++) runtime.send("{");
  await runtime.read();
  expect(await server.gateway.connected("agent-a")).toBe(true);

  runtime.send(helloFrom("instance-1"));

  expect(await runtime.closed).toMatchObject({ code: CLOSE_CODES.badFrame });
});

test("a silent runtime is disconnected, and its connection is stored as closed", async () => {
  server = await startGateway({ heartbeatMs: 20 });
  const runtime = await joinGateway(server.port);

  runtime.socket.pause();

  await until(async () => !(await server.gateway.connected("agent-a")), "the close");
  await until(() => server.store.closed.length === 1, "the write");
  expect(await server.store.connections("agent-a")).toEqual([]);
});

test("the connections of a replica are renewed with one write per heartbeat", async () => {
  server = await startGateway({ heartbeatMs: 30 });
  const renewed: string[][] = [];
  server.store.renewConnections = async (ids) => void renewed.push([...ids].toSorted());
  for (const instance of ["one", "two", "three"]) await joinGateway(server.port, helloFrom(instance));
  renewed.length = 0;

  await until(() => renewed.length > 1, "two heartbeats");

  const ids = server.store.opened.map(({ connectionId }) => connectionId).toSorted();
  expect(renewed.slice(0, 2)).toEqual([ids, ids]);
});

test("a key that is revoked in the database closes its connections, not those of other keys", async () => {
  server = await startGateway({ keyCheckMs: 20 });
  const revoked = await joinGateway(server.port, helloFrom("instance-1"));
  const kept = await joinGateway(server.port, helloFrom("instance-2"), { Authorization: "Bearer other-key-of-a" });

  server.keys.delete("key-of-a");

  expect(await revoked.closed).toMatchObject({ code: CLOSE_CODES.keyRevoked });
  await until(() => server.gateway.connectionCount() === 1, "the close");
  await kept.read();
});

test("an unavailable store revokes no key", async () => {
  let checks = 0;
  server = await startGateway({
    keyCheckMs: 10,
    async validCredentials() {
      checks++;
      throw new Error("store is down");
    },
  });
  await joinGateway(server.port);

  await until(() => checks > 3, "some checks");

  expect(server.gateway.connectionCount()).toBe(1);
});

test("the keys of all connections are checked with one query", async () => {
  const asked: string[][] = [];
  server = await startGateway({
    keyCheckMs: 10,
    async validCredentials(ids) {
      asked.push([...ids].toSorted());
      return new Set(ids);
    },
  });
  for (const instance of ["one", "two", "three"]) await joinGateway(server.port, helloFrom(instance));
  await joinGateway(server.port, helloFrom("four"), { Authorization: "Bearer other-key-of-a" });
  asked.length = 0;

  await until(() => asked.length > 0, "a check");

  expect(asked[0]).toEqual(["k1", "k2"]);
});

test("close ends every connection, also those without a hello", async () => {
  server = await startGateway();
  const greeted = await joinGateway(server.port);
  const silent = dialGateway(server.port);
  await once(silent.socket, "open");

  await server.gateway.close();

  expect(await greeted.closed).toMatchObject({ code: CLOSE_CODES.goingAway });
  await silent.closed;
});
