import { connect, silentLog, type ConnectOptions, type Log } from "@patchbay/functions";
import { LIMITS, LINK_CLOSE, LINK_VERSION } from "@patchbay/protocol";
import { afterEach, expect, test } from "vitest";
import { callFrame, startHandPlane } from "../../../../test/support/hand-plane.ts";
import { gated, handService } from "../../../../test/support/hand-service.ts";
import { until } from "../../../../test/support/inbox.ts";

const opened: (() => PromiseLike<unknown>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function plane(options: { heartbeatMs?: number; port?: number } = {}) {
  const started = await startHandPlane(options);
  opened.push(() => started[Symbol.asyncDispose]());
  return started;
}

function runtimeOf(url: string, service = handService(), change: Partial<ConnectOptions> = {}) {
  const runtime = connect(service, {
    url,
    key: "key-of-a",
    log: silentLog,
    backoff: { firstMs: 10, baseMs: 10, maxMs: 50 },
    ...change,
  });
  opened.push(() => runtime.stop({ drainMs: 0 }));
  return runtime;
}

/** A log that keeps its errors. */
function errorLog(): { log: Log; errors: string[] } {
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (message) => errors.push(message), child: () => log };
  return { log, errors };
}

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

/** Pauses of this back-off are over at once as long as the runtime begins its series again; later ones outlast a test. */
const SLOW_AFTER_FIRST = { firstMs: 10, baseMs: 600_000, recentMaxMs: 600_000, maxMs: 600_000 };

test("a connection that is lost right after its welcome is tried again after the first pause, each time", async () => {
  const { url, welcome } = await plane();
  runtimeOf(url, handService(), { backoff: SLOW_AFTER_FIRST });

  for (let i = 0; i < 5; i++) (await welcome()).socket.terminate();

  await welcome();
});

test("a control plane that went away is tried again after the first pause, however often it refused before", async () => {
  const started = await plane();
  runtimeOf(started.url, handService(), { backoff: SLOW_AFTER_FIRST });
  const first = await started.welcome();
  started.refuseWith = 503;
  first.send({ type: "goingAway" });
  await until(() => started.refused === 2, "two refusals");
  started.refuseWith = undefined;

  first.socket.close(LINK_CLOSE.goingAway);

  await started.welcome();
});

test("a control plane that says that it goes away is tried again at once and after the first pause", async () => {
  const started = await plane();
  const runtime = runtimeOf(started.url, handService(), { backoff: SLOW_AFTER_FIRST });
  const first = await started.welcome();
  started.refuseWith = 503;
  runtime.update(handService());
  await until(() => started.refused === 2, "two refusals");

  first.send({ type: "goingAway" });

  await until(() => started.refused === 4, "two further refusals");
});

test("a refusal for a limit is logged with the control plane's sentence, and tried again after the time it asks for", async () => {
  const lines: { message: string; fields: Record<string, unknown> }[] = [];
  const log: Log = { ...silentLog, warn: (message, fields = {}) => lines.push({ message, fields }), child: () => log };
  const started = await plane();
  started.refuseWith = 429;
  const errorMessage = "65 connections exceed the limit of 64.";
  started.refuseMore = { headers: { "Retry-After": "1" }, body: JSON.stringify({ errorMessage }) };
  const runtime = runtimeOf(started.url, handService(), { log });
  await until(() => lines.length > 0, "the refusal");
  started.refuseWith = undefined;

  expect(lines[0]).toMatchObject({
    message: "the control plane refused this connection: a limit is reached; trying again",
    fields: { status: 429, reason: errorMessage, retryAfterMs: 1_000 },
  });
  expect(lines[0]?.fields["retryInMs"]).toBeGreaterThanOrEqual(1_000);
  await started.welcome();
  await runtime.ready;
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

test("a refused key is logged with what to do, and tried again for ever", async () => {
  const { log, errors } = errorLog();
  const started = await plane();
  started.refuseWith = 401;
  const runtime = runtimeOf(started.url, handService(), { log });
  await until(() => started.refused >= 3, "three refusals");
  expect(errors[0]).toContain("patchbay runtime-keys create");

  started.refuseWith = undefined;
  await started.welcome();
  await runtime.ready;
});

test("a key of another agent is logged as such", async () => {
  const { log, errors } = errorLog();
  const started = await plane();
  started.refuseWith = 403;
  runtimeOf(started.url, handService(), { log, agentId: "agent-b" });

  await until(() => errors.length > 0, "an error in the log");

  expect(errors[0]).toContain("belongs to another agent");
});

test.each([
  ["keyRevoked", "revoked"],
  ["wrongVersion", "another version"],
  ["manifestRefused", "function set"],
] as const)("a link closed as %s is logged with its cause and dialled again", async (reason, words) => {
  const { log, errors } = errorLog();
  const { url, link } = await plane();
  runtimeOf(url, handService(), { log });

  (await link()).socket.close(LINK_CLOSE[reason], "because");

  await link();
  expect(errors[0]).toContain(words);
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
