import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { callFrame } from "@patchbay/test-support/fake-control-plane";
import { until } from "@patchbay/test-support/inbox";
import { memoryLog } from "../calls.ts";
import { plane, runtimeOf } from "./hand-plane.ts";

/** A service whose one handler ignores its signal until it is released. */
function stubborn(more: { concurrency?: number } = {}) {
  const released = Promise.withResolvers<void>();
  const begun: string[] = [];
  const echo = defineFunction({
    name: "echo",
    description: "Ignores its signal.",
    input: z.object({ callId: z.string() }),
    roles: "everyone",
    ...more,
    async handler({ callId }) {
      begun.push(callId);
      await released.promise;
      return callId;
    },
  });
  return { service: defineService({ name: "stubborn", functions: [echo] }), begun, release: released.resolve };
}

test.each(["cancelled", "timed_out"])(
  "a handler that ignores that its call was %s uses its slot until it returns",
  async (reason) => {
    const { service, begun, release } = stubborn();
    const { url, welcome } = await plane();
    runtimeOf(url, service, { concurrency: 1 });
    const connection = await welcome();
    connection.send(callFrame("stuck"));
    await until(() => begun.length === 1, "the handler");
    connection.send({ type: "cancel", callId: "stuck", reason });
    expect(await connection.next("result")).toMatchObject({
      callId: "stuck",
      outcome: { ok: false, code: reason, stillRuns: true },
    });

    connection.send(callFrame("next"));
    connection.send({ type: "callQuery", callId: "next", attempt: 1 });
    await connection.next("callState");
    expect(begun).toEqual(["stuck"]);
    release();

    expect(await connection.next("result")).toMatchObject({ callId: "next", outcome: { ok: true, value: "next" } });
  },
);

test("a handler of a function with concurrency reports its late return, which ends its permit", async () => {
  const { service, begun, release } = stubborn({ concurrency: 1 });
  const { url, welcome } = await plane();
  runtimeOf(url, service);
  const connection = await welcome();
  connection.send(callFrame("stuck"));
  await until(() => begun.length === 1, "the handler");
  connection.send({ type: "cancel", callId: "stuck", reason: "timed_out" });
  const { outcome, attempt } = await connection.next("result");
  expect(outcome).toMatchObject({ code: "timed_out", stillRuns: true });

  release();

  const repeated = await connection.next("result");
  expect(repeated).toMatchObject({ callId: "stuck", attempt, outcome: { code: "timed_out" } });
  expect(repeated.outcome).not.toHaveProperty("stillRuns");
});

test("a handler that heeds its signal does not count as one that still runs", async () => {
  const heeds = defineFunction({
    name: "echo",
    description: "Heeds its signal.",
    input: z.object({ callId: z.string() }),
    roles: "everyone",
    timeoutMs: 100,
    handler: (_input, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  });
  const { url, welcome } = await plane();
  runtimeOf(url, defineService({ name: "heeding", functions: [heeds] }));
  const connection = await welcome();
  connection.send(callFrame("c1"));

  const { outcome } = await connection.next("result");
  expect(outcome).toMatchObject({ ok: false, code: "timed_out" });
  expect(outcome).not.toHaveProperty("stillRuns");
});

test("the log mentions a handler that runs on after its call, and mentions its return", async () => {
  const { service, begun, release } = stubborn();
  const log = memoryLog();
  const { url, welcome } = await plane();
  runtimeOf(url, service, { concurrency: 1, log });
  const connection = await welcome();
  connection.send(callFrame("stuck"));
  await until(() => begun.length === 1, "the handler");
  connection.send({ type: "cancel", callId: "stuck", reason: "cancelled" });

  const logged = (text: string) => log.lines.find(({ message }) => message.includes(text));
  await until(() => logged("is still running after its call ended") !== undefined, "the warning");
  release();
  await until(() => logged("returned after its call had ended") !== undefined, "the end");

  const fields = { functionName: "echo", callId: "stuck", concurrency: 1 };
  expect(logged("is still running after its call ended")).toMatchObject({ level: "warn", fields });
  expect(logged("returned after its call had ended")).toMatchObject({ level: "info", fields });
});
