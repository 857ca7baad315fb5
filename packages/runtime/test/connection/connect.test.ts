import { connect, silentLog } from "@patchbay/functions";
import { LIMITS, CLOSE_CODES, FRAMES_VERSION } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { callFrame } from "@patchbay/test-support/fake-control-plane";
import { gated, fakeService } from "@patchbay/test-support/fake-service";
import { freePort } from "@patchbay/test-support/free-port";
import { until } from "@patchbay/test-support/inbox";
import { plane, runtimeOf } from "./hand-plane.ts";

test("the hello carries manifest, instance and concurrency; the upgrade carries key and agent", async () => {
  const { url, link } = await plane();
  const service = fakeService();
  const runtime = runtimeOf(`${url}/`, service, { agentId: "agent-a", concurrency: 3 });

  const { request, next } = await link();
  expect(await next("hello")).toMatchObject({
    version: FRAMES_VERSION,
    instanceId: runtime.instanceId,
    manifest: service.manifest,
    concurrency: 3,
  });
  expect(request.url).toBe("/functions/connect");
  expect(request.headers).toMatchObject({ authorization: "Bearer key-of-a", "x-agent-id": "agent-a" });
  expect(request.headers["sec-websocket-extensions"]).toBeUndefined();
  expect(request.headers.origin).toBeUndefined();
});

test("the log has the ID of the runtime, by which the console names it", async () => {
  const { url, welcome } = await plane();
  const connected = Promise.withResolvers<unknown>();
  const log = {
    ...silentLog,
    info: (message: string, fields?: object) => {
      if (message === "connected to the control plane") connected.resolve(fields);
    },
  };
  const runtime = runtimeOf(url, fakeService(), { log });
  await welcome();

  expect(await connected.promise).toMatchObject({ runtimeId: runtime.instanceId });
});

test("the hello carries the name of the deployment, if there is one", async () => {
  const { url, link } = await plane();
  runtimeOf(url, fakeService(), { deployment: "release-7" });
  expect(await (await link()).next("hello")).toMatchObject({ deployment: "release-7" });

  runtimeOf(url, fakeService());
  expect(await (await link()).next("hello")).not.toHaveProperty("deployment");
});

test("a deployment name that is empty or longer than 100 characters is refused", () => {
  const to = (deployment: string) => () => connect(fakeService(), { url: "ws://127.0.0.1:9", key: "k", deployment });

  expect(to("")).toThrow("1 to 100");
  expect(to("x".repeat(101))).toThrow("101 characters");
});

test("the runtime is ready when the control plane welcomes it", async () => {
  const { url, welcome } = await plane();
  const runtime = runtimeOf(url);
  expect(runtime.state).toBe("connecting");

  await welcome();
  await runtime.ready;

  expect(runtime.state).toBe("connected");
});

test("the runtime connects to a control plane that starts later", async () => {
  const port = await freePort();
  const runtime = runtimeOf(`http://127.0.0.1:${port}`);

  const { welcome } = await plane({ port });
  await welcome();

  await runtime.ready;
});

test("the runtime reconnects each time its connection is lost", async () => {
  const { url, welcome } = await plane();
  runtimeOf(url);

  for (let i = 0; i < 5; i++) (await welcome()).socket.terminate();

  await welcome();
});

test("only results without an acknowledgement are sent again after a reconnect", async () => {
  const { url, welcome } = await plane();
  const service = fakeService();
  runtimeOf(url, service);
  const first = await welcome();
  first.send(callFrame("kept"));
  first.send(callFrame("stored"));
  const results = [await first.next("result"), await first.next("result")];
  first.send({ type: "resultAck", callId: "stored" });
  first.send({ type: "callQuery", callId: "barrier", attempt: 1 });
  await first.next("callState");
  first.socket.terminate();

  const second = await welcome();

  expect(await second.next("result")).toEqual(results.find(({ callId }) => callId === "kept"));
  second.send({ type: "callQuery", callId: "barrier", attempt: 1 });
  await second.next("callState");
  expect(second.inbox.rest).toEqual([]);
  expect(service.invoked).toHaveLength(2);
});

test("a call continues while its connection is lost, and the next connection carries its result", async () => {
  const { url, welcome } = await plane();
  const gate = gated();
  const service = fakeService({ answer: gate.answer });
  runtimeOf(url, service);
  const first = await welcome();
  first.send(callFrame("c1"));
  await until(() => gate.started(1), "the call");
  first.socket.terminate();
  gate.open();

  const second = await welcome();

  expect(await second.next("result")).toMatchObject({ callId: "c1", outcome: { ok: true } });
  expect(service.invoked).toHaveLength(1);
});

test("the runtime reconnects when the control plane stops responding", async () => {
  const { url, welcome } = await plane({ heartbeatMs: 30 });
  runtimeOf(url);
  const first = await welcome();
  first.socket.pause();

  await welcome();
});

test("the connection to a control plane that is going away serves until its replacement is open", async () => {
  const { url, welcome } = await plane();
  const gate = gated();
  const service = fakeService({ answer: gate.answer });
  runtimeOf(url, service);
  const first = await welcome();
  first.send(callFrame("held"));
  await until(() => gate.started(1), "the call");

  first.send({ type: "goingAway" });
  const second = await welcome();
  gate.open();

  expect(await first.next("result")).toMatchObject({ callId: "held" });
  first.send(callFrame("late"));
  expect(await first.next("result")).toMatchObject({ callId: "late" });
  second.send(callFrame("new"));
  expect(await second.next("result")).toMatchObject({ callId: "new" });
});

test("the new connection sends the results that were not acknowledged when the old one closed", async () => {
  const { url, welcome } = await plane();
  runtimeOf(url);
  const first = await welcome();
  first.send(callFrame("c1"));
  const result = await first.next("result");
  first.send({ type: "goingAway" });
  const second = await welcome();

  first.socket.close(CLOSE_CODES.goingAway);

  expect(await second.next("result")).toEqual(result);
});

test("an updated service runs new calls while open calls end with the old code", async () => {
  const { url, welcome } = await plane();
  const gate = gated();
  const old = fakeService({ answer: gate.answer });
  const runtime = runtimeOf(url, old);
  const first = await welcome();
  first.send(callFrame("old"));
  await until(() => gate.started(1), "the call");

  runtime.update(fakeService({ functions: ["echo", "second"], answer: async () => ({ ok: true, value: "new code" }) }));
  const second = await (async () => {
    const connection = await welcome();
    connection.send(callFrame("new"));
    return connection;
  })();

  expect(await second.next("result")).toMatchObject({ callId: "new", outcome: { value: "new code" } });
  gate.open();
  expect(await first.next("result")).toMatchObject({ callId: "old", outcome: { value: { callId: "old" } } });
});

test.each(["", "localhost:8787", "ftp://host", "not an address"])("the address %j is refused", (url) => {
  expect(() => connect(fakeService(), { url, key: "k", log: silentLog })).toThrow(
    "is not the address of a control plane",
  );
});

test("a key with invalid characters is refused", () => {
  expect(() => connect(fakeService(), { url: "http://h", key: "a b\n", log: silentLog })).toThrow("the key is empty");
});

test("a function set too large for a frame is refused", () => {
  const service = fakeService();
  const instructions = "x".repeat(LIMITS.frameBytes);
  const large = { ...service, manifest: { ...service.manifest, instructions } };

  expect(() => connect(large, { url: "http://127.0.0.1:1", key: "k", log: silentLog })).toThrow("function set");
});
