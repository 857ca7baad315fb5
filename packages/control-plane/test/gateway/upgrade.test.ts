import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { ErrorBody, LIMITS, LINK_CLOSE, LINK_VERSION } from "@patchbay/protocol";
import { afterEach, expect, test } from "vitest";
import { startGateway, type GatewayServer } from "../../../../test/support/gateway-server.ts";
import { dialGateway, greetGateway, helloFrom } from "../../../../test/support/hand-runtime.ts";
import { until } from "../../../../test/support/inbox.ts";

let server: GatewayServer;

afterEach(() => server[Symbol.asyncDispose]());

/** Asks for an upgrade by plain HTTP and reads the refusal. */
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
  ["a key that is no bearer token", { Authorization: "Basic key-of-a" }],
])("%s is refused with 401", async (_, headers) => {
  server = await startGateway();

  const { status, body } = await refusalOf(headers);

  expect(status).toBe(401);
  expect(body).toMatchObject({ success: false, code: "authentication_failed", errorMessage: "Authentication failed" });
});

test("any Origin header is refused with 403, whatever the key", async () => {
  server = await startGateway();

  const { status, body } = await refusalOf({ Authorization: "Bearer key-of-a", Origin: "http://127.0.0.1" });

  expect(status).toBe(403);
  expect(body.errorMessage).toContain("Origin");
});

test("a key of another agent than the named one is refused with 403", async () => {
  server = await startGateway();

  const refused = await refusalOf({ Authorization: "Bearer key-of-a", "X-Agent-Id": "agent-b", "X-Request-Id": "r-1" });

  expect(refused).toMatchObject({ status: 403, body: { code: "agent_mismatch", requestId: "r-1" } });
  expect(refused.headers["x-request-id"]).toBe("r-1");
});

test("another path is refused with 404", async () => {
  server = await startGateway();

  expect(await refusalOf({ Authorization: "Bearer key-of-a" }, "/elsewhere")).toMatchObject({ status: 404 });
});

test("keys that cannot be looked up are answered with 503 and a time to retry", async () => {
  server = await startGateway({ authenticate: () => Promise.reject(new Error("store is down")) });

  const { status, headers, body } = await refusalOf({ Authorization: "Bearer key-of-a" });

  expect(status).toBe(503);
  expect(headers["retry-after"]).toBe("1");
  expect(JSON.stringify(body)).not.toContain("store is down");
});

test("a control plane that goes away refuses new links and keeps those it has", async () => {
  server = await startGateway();
  const runtime = await greetGateway(server.port);

  server.gateway.goingAway();

  await runtime.next("goingAway");
  expect(await refusalOf({ Authorization: "Bearer key-of-a" })).toMatchObject({ status: 503 });
  expect(await server.gateway.connected("agent-a")).toBe(true);
});

test("a hello is answered with a welcome, and the function set is stored under one hash whatever its order", async () => {
  server = await startGateway({ heartbeatMs: 1_234 });
  const hello = helloFrom("instance-1");
  const reversed = Object.fromEntries(Object.entries(hello.manifest).reverse());

  await greetGateway(server.port, hello);
  const second = dialGateway(server.port);
  second.socket.once("open", () => second.send({ ...hello, instanceId: "instance-2", manifest: reversed }));

  expect(await second.next("welcome")).toMatchObject({ agentId: "agent-a", heartbeatMs: 1_234 });
  expect(server.store.opened).toMatchObject([{ instanceId: "instance-1", replicaId: "replica-1" }, {}]);
  const [first, other] = server.store.opened.map(({ manifestHash }) => manifestHash);
  expect(first).toBe(other);
  expect(await server.store.getManifest("agent-a", first!)).toEqual(hello.manifest);
  expect(server.gateway.connectionCount()).toBe(2);
});

test("a link without a hello is closed", async () => {
  server = await startGateway({ helloMs: 30 });

  const { closed } = dialGateway(server.port);

  expect(await closed).toMatchObject({ code: LINK_CLOSE.helloTimeout });
});

const manifest = helloFrom("x").manifest;
const [echo] = manifest.functions;
const large = { ...echo, inputSchema: { description: "x".repeat(LIMITS.schemaBytes) } };

test.each([
  ["another version", "wrongVersion", { version: LINK_VERSION + 1, manifest: "of the future" }],
  ["a manifest of no shape", "manifestRefused", { manifest: { name: 1 } }],
  ["two functions of one name", "manifestRefused", { manifest: { ...manifest, functions: [echo, echo] } }],
  ["a schema over its limit", "manifestRefused", { manifest: { ...manifest, functions: [large] } }],
  ["no concurrency", "badFrame", { concurrency: 0 }],
  ["another frame first", "badFrame", { type: "draining" }],
] as const)("a hello with %s is refused with a reason", async (_, reason, change) => {
  server = await startGateway();
  const runtime = dialGateway(server.port);

  runtime.socket.once("open", () => runtime.send({ ...helloFrom("instance-1"), ...change }));

  const { code, reason: words } = await runtime.closed;
  expect(code).toBe(LINK_CLOSE[reason]);
  expect(words).not.toBe("");
  expect(await server.gateway.connected("agent-a")).toBe(false);
});

test("a frame above the limit closes the link", async () => {
  server = await startGateway();
  const runtime = await greetGateway(server.port);

  runtime.send(`"${"x".repeat(LIMITS.frameBytes)}"`);

  expect(await runtime.closed).toMatchObject({ code: 1009 });
});

test("ten malformed frames close the link, nine do not", async () => {
  server = await startGateway();
  const runtime = await greetGateway(server.port);
  for (let i = 0; i < 9; i++) runtime.send("{");
  await runtime.read();
  expect(await server.gateway.connected("agent-a")).toBe(true);

  runtime.send(helloFrom("instance-1"));

  expect(await runtime.closed).toMatchObject({ code: LINK_CLOSE.badFrame });
});

test("a silent runtime is dropped and noted as gone", async () => {
  server = await startGateway({ heartbeatMs: 20 });
  const runtime = await greetGateway(server.port);

  runtime.socket.pause();

  await until(async () => !(await server.gateway.connected("agent-a")), "the drop");
  await until(() => server.store.closed.length === 1, "the note");
  expect(await server.store.links("agent-a")).toEqual([]);
});

test("signs of life of all links are stored together", async () => {
  server = await startGateway({ heartbeatMs: 30 });
  const told: string[][] = [];
  server.store.linksAlive = async (ids) => void told.push([...ids].toSorted());
  for (const instance of ["one", "two", "three"]) await greetGateway(server.port, helloFrom(instance));
  told.length = 0;

  await until(() => told.length > 1, "two heartbeats");

  const ids = server.store.opened.map(({ connectionId }) => connectionId).toSorted();
  expect(told.slice(0, 2)).toEqual([ids, ids]);
});

test("a key revoked in the database closes its links, not those of other keys", async () => {
  server = await startGateway({ keyCheckMs: 20 });
  const revoked = await greetGateway(server.port, helloFrom("instance-1"));
  const kept = await greetGateway(server.port, helloFrom("instance-2"), { Authorization: "Bearer other-key-of-a" });

  server.keys.delete("key-of-a");

  expect(await revoked.closed).toMatchObject({ code: LINK_CLOSE.keyRevoked });
  await until(() => server.gateway.connectionCount() === 1, "the drop");
  await kept.read();
});

test("a store that is out of reach revokes nothing", async () => {
  let checks = 0;
  server = await startGateway({
    keyCheckMs: 10,
    async validCredentials() {
      checks++;
      throw new Error("store is down");
    },
  });
  await greetGateway(server.port);

  await until(() => checks > 3, "some checks");

  expect(server.gateway.connectionCount()).toBe(1);
});

test("the keys of all links are looked up in one go", async () => {
  const asked: string[][] = [];
  server = await startGateway({
    keyCheckMs: 10,
    async validCredentials(ids) {
      asked.push([...ids].toSorted());
      return new Set(ids);
    },
  });
  for (const instance of ["one", "two", "three"]) await greetGateway(server.port, helloFrom(instance));
  await greetGateway(server.port, helloFrom("four"), { Authorization: "Bearer other-key-of-a" });
  asked.length = 0;

  await until(() => asked.length > 0, "a check");

  expect(asked[0]).toEqual(["k1", "k2"]);
});

test("revoke closes the links of that key at once", async () => {
  server = await startGateway();
  const runtime = await greetGateway(server.port);

  server.gateway.revoke("k1");

  expect(await runtime.closed).toMatchObject({ code: LINK_CLOSE.keyRevoked });
});

test("closing ends every link, also those that have not said hello", async () => {
  server = await startGateway();
  const greeted = await greetGateway(server.port);
  const silent = dialGateway(server.port);
  await once(silent.socket, "open");

  await server.gateway.close();

  expect(await greeted.closed).toMatchObject({ code: LINK_CLOSE.goingAway });
  await silent.closed;
});
