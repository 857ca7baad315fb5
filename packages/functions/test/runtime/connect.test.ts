import { connect, silentLog } from "@patchbay/functions";
import { LIMITS, LINK_CLOSE, LINK_VERSION } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { callFrame, startHandPlane } from "../../../../test/support/hand-plane.ts";
import { gated, handService } from "../../../../test/support/hand-service.ts";
import { until } from "../../../../test/support/inbox.ts";
import { plane, runtimeOf } from "./hand-plane.ts";

test("the runtime says hello with its manifest, its instance and its concurrency, and sends its key and agent", async () => {
  const { url, link } = await plane();
  const service = handService();
  const runtime = runtimeOf(`${url}/`, service, { agentId: "agent-a", concurrency: 3 });

  const { request, next } = await link();
  expect(await next("hello")).toMatchObject({
    version: LINK_VERSION,
    instanceId: runtime.instanceId,
    manifest: service.manifest,
    concurrency: 3,
  });
  expect(request.url).toBe("/functions/connect");
  expect(request.headers).toMatchObject({ authorization: "Bearer key-of-a", "x-agent-id": "agent-a" });
  expect(request.headers["sec-websocket-extensions"]).toBeUndefined();
  expect(request.headers.origin).toBeUndefined();
});

test("a deployment is named in the hello; without a name there is none", async () => {
  const { url, link } = await plane();
  runtimeOf(url, handService(), { deployment: "release-7" });
  expect(await (await link()).next("hello")).toMatchObject({ deployment: "release-7" });

  runtimeOf(url, handService());
  expect(await (await link()).next("hello")).not.toHaveProperty("deployment");
});

test("a deployment without characters, or with over 100, is refused", () => {
  const to = (deployment: string) => () => connect(handService(), { url: "ws://127.0.0.1:9", key: "k", deployment });

  expect(to("")).toThrow("1 to 100");
  expect(to("x".repeat(101))).toThrow("101 characters");
});

test("it is ready when it was welcomed", async () => {
  const { url, welcome } = await plane();
  const runtime = runtimeOf(url);
  expect(runtime.state).toBe("connecting");

  await welcome();
  await runtime.ready;

  expect(runtime.state).toBe("connected");
});

test("it connects to a control plane that is started later", async () => {
  const first = await startHandPlane();
  await first[Symbol.asyncDispose]();
  const runtime = runtimeOf(first.url);

  const { welcome } = await plane({ port: first.port });
  await welcome();

  await runtime.ready;
});

test("it connects again whenever its link is lost", async () => {
  const { url, welcome } = await plane();
  runtimeOf(url);

  for (let i = 0; i < 5; i++) (await welcome()).socket.terminate();

  await welcome();
});

test("results that were not acknowledged are sent again after a reconnect, others are not", async () => {
  const { url, welcome } = await plane();
  const service = handService();
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

test("a call goes on while its link is lost, and its result comes by the next one", async () => {
  const { url, welcome } = await plane();
  const gate = gated();
  const service = handService({ answer: gate.answer });
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

test("a silent control plane is noticed, and the link is dialled anew", async () => {
  const { url, welcome } = await plane({ heartbeatMs: 30 });
  runtimeOf(url);
  const first = await welcome();
  first.socket.pause();

  await welcome();
});

test("a control plane that goes away is replaced before its link is given up", async () => {
  const { url, welcome } = await plane();
  const gate = gated();
  const service = handService({ answer: gate.answer });
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

test("results that an old link did not get acknowledged before it closed are sent by the new one", async () => {
  const { url, welcome } = await plane();
  runtimeOf(url);
  const first = await welcome();
  first.send(callFrame("c1"));
  const result = await first.next("result");
  first.send({ type: "goingAway" });
  const second = await welcome();

  first.socket.close(LINK_CLOSE.goingAway);

  expect(await second.next("result")).toEqual(result);
});

test("an updated service serves new calls while old ones end with the old code", async () => {
  const { url, welcome } = await plane();
  const gate = gated();
  const old = handService({ answer: gate.answer });
  const runtime = runtimeOf(url, old);
  const first = await welcome();
  first.send(callFrame("old"));
  await until(() => gate.started(1), "the call");

  runtime.update(handService({ functions: ["echo", "second"], answer: async () => ({ ok: true, value: "new code" }) }));
  const second = await (async () => {
    const link = await welcome();
    link.send(callFrame("new"));
    return link;
  })();

  expect(await second.next("result")).toMatchObject({ callId: "new", outcome: { value: "new code" } });
  gate.open();
  expect(await first.next("result")).toMatchObject({ callId: "old", outcome: { value: { callId: "old" } } });
});

test.each(["", "localhost:8787", "ftp://host", "not an address"])("the address %j is refused at once", (url) => {
  expect(() => connect(handService(), { url, key: "k", log: silentLog })).toThrow("no address of a control plane");
});

test("a key with characters no key has is refused at once", () => {
  expect(() => connect(handService(), { url: "http://h", key: "a b\n", log: silentLog })).toThrow("the key is empty");
});

test("a function set too large for a frame is refused at once", () => {
  const service = handService();
  const instructions = "x".repeat(LIMITS.frameBytes);
  const large = { ...service, manifest: { ...service.manifest, instructions } };

  expect(() => connect(large, { url: "http://127.0.0.1:1", key: "k", log: silentLog })).toThrow("function set");
});
