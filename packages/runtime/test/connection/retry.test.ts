import { silentLog, type Log } from "@patchbay/functions";
import { CLOSE_CODES } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { callFrame } from "@patchbay/test-support/fake-control-plane";
import { fakeService } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { explainEnd } from "../../src/connection/reconnect.ts";
import { plane, runtimeOf } from "./hand-plane.ts";

/** A log that keeps its errors. */
function errorLog(): { log: Log; errors: string[] } {
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (message) => errors.push(message), child: () => log };
  return { log, errors };
}

test("a key refused at the first connection stops the runtime with the code and what to do", async () => {
  const { log, errors } = errorLog();
  const started = await plane();
  started.refuseWith = 401;
  const runtime = runtimeOf(started.url, fakeService(), { log });

  await expect(runtime.ended).rejects.toMatchObject({
    name: "ConnectionError",
    code: "authentication_failed",
    message: expect.stringContaining("patchbay runtime-keys create"),
  });

  await expect(runtime.ready).rejects.toMatchObject({ code: "authentication_failed" });
  expect(runtime.state).toBe("stopped");
  expect(started.refused).toBe(1);
  expect(errors).toEqual([expect.stringContaining("the runtime stops")]);
});

test("a function set refused at the first connection stops the runtime with the control plane's reason", async () => {
  const { url, link } = await plane();
  const runtime = runtimeOf(url);

  (await link()).socket.close(CLOSE_CODES.manifestRefused, "212 functions exceed the limit of 200.");

  await expect(runtime.ended).rejects.toMatchObject({
    code: "manifest_refused",
    message: expect.stringContaining("212 functions exceed the limit of 200."),
  });
});

test("a key refused while the control plane starts stops a runtime that was never connected", async () => {
  const started = await plane();
  started.refuseWith = 503;
  const runtime = runtimeOf(started.url);
  await until(() => started.refused >= 2, "two refusals");

  started.refuseWith = 403;

  await expect(runtime.ended).rejects.toMatchObject({ code: "agent_mismatch" });
});

test("a runtime that was connected retries a refused key, and serves again when the key is accepted", async () => {
  const started = await plane();
  const runtime = runtimeOf(started.url);
  const first = await started.welcome();
  started.refuseWith = 401;
  first.socket.close(CLOSE_CODES.keyRevoked, "revoked");
  await until(() => started.refused >= 3, "three refusals");

  started.refuseWith = undefined;

  await started.welcome();
  await until(() => runtime.state === "connected", "the connection");
});

test("a runtime that was connected stops when its key is refused for longer than it retries", async () => {
  const started = await plane();
  const runtime = runtimeOf(started.url, fakeService(), { backoff: { firstMs: 10, baseMs: 10, refusedMs: 50 } });
  const first = await started.welcome();
  started.refuseWith = 401;

  first.socket.close(CLOSE_CODES.keyRevoked, "revoked");

  await expect(runtime.ended).rejects.toMatchObject({ code: "authentication_failed" });
  expect(started.refused).toBeGreaterThan(0);
  expect(runtime.state).toBe("stopped");
});

test("a refused replacement leaves the open connection serving", async () => {
  const { url, link, welcome } = await plane();
  const runtime = runtimeOf(url, fakeService(), { backoff: { firstMs: 1, baseMs: 1, maxMs: 1, refusedMs: 0 } });
  const first = await welcome();

  runtime.update(fakeService());
  for (let i = 0; i < 3; i++) (await link()).socket.close(CLOSE_CODES.manifestRefused, "because");

  expect(runtime.state).toBe("connected");
  first.send(callFrame("c1"));
  expect(await first.next("result")).toMatchObject({ callId: "c1" });
});

test("a stopped runtime ends without an error", async () => {
  const { url, welcome } = await plane();
  const runtime = runtimeOf(url);
  await welcome();

  await runtime.stop();

  await expect(runtime.ended).resolves.toBeUndefined();
});

test("the log says when the key belongs to another agent", async () => {
  const { log, errors } = errorLog();
  const started = await plane();
  started.refuseWith = 403;
  runtimeOf(started.url, fakeService(), { log, agentId: "agent-b" });

  await until(() => errors.length > 0, "an error in the log");

  expect(errors[0]).toContain("belongs to another agent");
});

test.each([
  ["wrongVersion", "another version"],
  ["serviceConflict", "next to another one of the agent"],
] as const)("a connection closed as %s is logged with its cause and retried", async (reason, words) => {
  const { log, errors } = errorLog();
  const { url, link } = await plane();
  runtimeOf(url, fakeService(), { log });

  (await link()).socket.close(CLOSE_CODES[reason], "because");

  await link();
  expect(errors[0]).toContain(words);
});

test.each([
  ["manifestRefused", true],
  ["serviceConflict", false],
  ["tooManyFrames", false],
  ["goingAway", false],
] as const)("a connection closed as %s counts as lasting: %s", (reason, lasting) => {
  expect(explainEnd({ code: CLOSE_CODES[reason] })).toMatchObject({ lasting });
});

test.each([
  [407, "credentials", true],
  [403, "allow CONNECT", true],
  [502, "does not reach", false],
])("a proxy's %i is not taken for the control plane's, and is retried", (proxyStatus, words, lasting) => {
  const end = explainEnd({ status: proxyStatus, proxyStatus, code: 1006 });

  expect(end).toMatchObject({ message: expect.stringContaining(words), lasting });
  expect(end.refusal).toBeUndefined();
});

test("the message about too many frames names every unasked frame", () => {
  const { message } = explainEnd({ code: CLOSE_CODES.tooManyFrames });
  expect(message).toContain("frames that the control plane did not ask for");
});

/** The first wait of a series is short, and every later one longer than a test. */
const SLOW_AFTER_FIRST = { firstMs: 10, baseMs: 600_000, recentMaxMs: 600_000, dayMaxMs: 600_000, maxMs: 600_000 };

test("a connection lost right after its welcome restarts the series of waits each time", async () => {
  const { url, welcome } = await plane();
  runtimeOf(url, fakeService(), { backoff: SLOW_AFTER_FIRST });

  for (let i = 0; i < 5; i++) (await welcome()).socket.terminate();

  await welcome();
});

test("a closed connection restarts the series of waits after failed replacements", async () => {
  const started = await plane();
  runtimeOf(started.url, fakeService(), { backoff: SLOW_AFTER_FIRST });
  const first = await started.welcome();
  started.refuseWith = 503;
  first.send({ type: "goingAway" });
  await until(() => started.refused === 2, "two refusals");
  started.refuseWith = undefined;

  first.socket.close(CLOSE_CODES.goingAway);

  await started.welcome();
});

test("a goingAway frame restarts the series of waits", async () => {
  const started = await plane();
  const runtime = runtimeOf(started.url, fakeService(), { backoff: SLOW_AFTER_FIRST });
  const first = await started.welcome();
  started.refuseWith = 503;
  runtime.update(fakeService());
  await until(() => started.refused === 2, "two refusals");

  first.send({ type: "goingAway" });

  await until(() => started.refused === 4, "two further refusals");
});

test("a refusal because of a limit is logged with its reason and retried after Retry-After", async () => {
  const lines: { message: string; fields: Record<string, unknown> }[] = [];
  const log: Log = { ...silentLog, warn: (message, fields = {}) => lines.push({ message, fields }), child: () => log };
  const started = await plane();
  started.refuseWith = 429;
  const errorMessage = "65 connections exceed the limit of 64.";
  started.refuseMore = { headers: { "Retry-After": "1" }, body: JSON.stringify({ errorMessage }) };
  const runtime = runtimeOf(started.url, fakeService(), { log });
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
