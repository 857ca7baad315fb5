import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { callFrame } from "../../../../test/support/hand-plane.ts";
import { until } from "../../../../test/support/inbox.ts";
import { memoryLog } from "../calls.ts";
import { plane, runtimeOf } from "./hand-plane.ts";

/** A service whose one handler ignores its signal until it is let go. */
function stubborn() {
  const released = Promise.withResolvers<void>();
  const begun: string[] = [];
  const echo = defineFunction({
    name: "echo",
    description: "Ignores its signal.",
    input: z.object({ callId: z.string() }),
    roles: "everyone",
    async handler({ callId }) {
      begun.push(callId);
      await released.promise;
      return callId;
    },
  });
  return { service: defineService({ name: "stubborn", functions: [echo] }), begun, letGo: released.resolve };
}

test.each(["cancelled", "timed_out"])(
  "a handler that ignores that its call was %s keeps its place until it returns",
  async (reason) => {
    const { service, begun, letGo } = stubborn();
    const { url, welcome } = await plane();
    runtimeOf(url, service, { concurrency: 1 });
    const link = await welcome();
    link.send(callFrame("stuck"));
    await until(() => begun.length === 1, "the handler");
    link.send({ type: "cancel", callId: "stuck", reason });
    expect(await link.next("result")).toMatchObject({ callId: "stuck", outcome: { ok: false, code: reason } });

    link.send(callFrame("next"));
    link.send({ type: "callQuery", callId: "next", attempt: 1 });
    await link.next("callState");
    expect(begun).toEqual(["stuck"]);
    letGo();

    expect(await link.next("result")).toMatchObject({ callId: "next", outcome: { ok: true, value: "next" } });
  },
);

test("a handler that keeps its place after its call is logged, and again when it returns", async () => {
  const { service, begun, letGo } = stubborn();
  const log = memoryLog();
  const { url, welcome } = await plane();
  runtimeOf(url, service, { concurrency: 1, log });
  const link = await welcome();
  link.send(callFrame("stuck"));
  await until(() => begun.length === 1, "the handler");
  link.send({ type: "cancel", callId: "stuck", reason: "cancelled" });

  const logged = (text: string) => log.lines.find(({ message }) => message.includes(text));
  await until(() => logged("takes a place") !== undefined, "the warning");
  letGo();
  await until(() => logged("has returned") !== undefined, "the end");

  const fields = { function: "echo", callId: "stuck", concurrency: 1 };
  expect(logged("takes a place")).toMatchObject({ level: "warn", fields });
  expect(logged("has returned")).toMatchObject({ level: "info", fields });
});
