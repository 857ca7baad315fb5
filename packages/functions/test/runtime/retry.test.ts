import { silentLog, type Log } from "@patchbay/functions";
import { LINK_CLOSE } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { handService } from "../../../../test/support/hand-service.ts";
import { until } from "../../../../test/support/inbox.ts";
import { explainEnd } from "../../src/runtime/explain-end.ts";
import { plane, runtimeOf } from "./hand-plane.ts";

/** A log that keeps its errors. */
function errorLog(): { log: Log; errors: string[] } {
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (message) => errors.push(message), child: () => log };
  return { log, errors };
}

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
  ["serviceConflict", "next to another one of the agent"],
] as const)("a link closed as %s is logged with its cause and dialled again", async (reason, words) => {
  const { log, errors } = errorLog();
  const { url, link } = await plane();
  runtimeOf(url, handService(), { log });

  (await link()).socket.close(LINK_CLOSE[reason], "because");

  await link();
  expect(errors[0]).toContain(words);
});

test.each([
  ["manifestRefused", true],
  ["serviceConflict", false],
  ["tooManyFrames", false],
  ["goingAway", false],
] as const)("whether a connection closed as %s may be refused for long is known: %s", (reason, lasting) => {
  expect(explainEnd({ code: LINK_CLOSE[reason], reason: "", openMs: 0 })).toMatchObject({ lasting });
});

test("a connection closed over too many frames blames every frame that was not asked for", () => {
  const { message } = explainEnd({ code: LINK_CLOSE.tooManyFrames, reason: "", openMs: 0 });
  expect(message).toContain("frames that the control plane did not ask for");
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
