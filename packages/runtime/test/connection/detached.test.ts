import { defineFunction, defineService, DefinitionError, everyone, type Service } from "@patchbay/functions";
import type { Answer } from "@patchbay/test-support/fake-service";
import { callFrame } from "@patchbay/test-support/fake-control-plane";
import { fakeService, gated, untilAborted } from "@patchbay/test-support/fake-service";
import { expect, test } from "vitest";
import { z } from "zod";
import { plane, runtimeOf } from "./hand-plane.ts";

async function connected(service: Service, concurrency = 1) {
  const started = await plane();
  runtimeOf(started.url, service, { concurrency });
  return { plane: started, connection: await started.welcome() };
}

const detached = (callId: string) => callFrame(callId, { detached: true, timeoutMs: 600_000 });
const running = (callId: string) => ({ type: "callState", callId, attempt: 1, state: "running" });

test("a detached handler is reported when it begins, and takes no place of the process", async () => {
  const gate = gated();
  const service = fakeService({ functions: ["echo", "slow"], answer: gate.answer });
  const { connection } = await connected(service);

  for (const callId of ["one", "two"]) {
    connection.send(detached(callId));
    expect(await connection.next("callState")).toEqual(running(callId));
  }
  connection.send(callFrame("three"));
  connection.send(callFrame("four"));
  connection.send({ type: "callQuery", callId: "four", attempt: 1 });

  expect(await connection.next("callState")).toEqual(running("four"));
  expect(service.invoked.map(({ callId }) => callId)).toEqual(["one", "two", "three"]);
  gate.open();
  for (let i = 0; i < 4; i++) await connection.next("result");
});

test("a call that is not delivered as detached is not reported", async () => {
  const gate = gated();
  const { connection } = await connected(fakeService({ answer: gate.answer }));
  connection.send(callFrame("one"));
  gate.open();
  await connection.next("result");
  expect(connection.inbox.rest).toEqual([]);
});

test("over the next connection the handler is reported, and its progress and result follow", async () => {
  const gate = gated();
  const step = Promise.withResolvers<void>();
  const answer: Answer = async (invocation, options) => {
    await step.promise;
    options.onProgress?.({ done: 7 });
    return gate.answer(invocation, options);
  };
  const { plane: started, connection } = await connected(fakeService({ answer }));
  connection.send(detached("one"));
  await connection.next("callState");
  connection.socket.terminate();

  const next = await started.welcome();
  expect(await next.next("callState")).toEqual(running("one"));
  step.resolve();
  expect(await next.next("progress")).toEqual({ type: "progress", callId: "one", data: { done: 7 } });
  next.socket.terminate();
  gate.open();

  const last = await started.welcome();
  expect(await last.next("result")).toMatchObject({ callId: "one", outcome: { ok: true } });
});

test("a cancel that answers the report stops the handler", async () => {
  const { answer } = untilAborted();
  const { plane: started, connection } = await connected(fakeService({ answer }));
  connection.send(detached("one"));
  await connection.next("callState");
  connection.socket.terminate();
  const next = await started.welcome();
  await next.next("callState");

  next.send({ type: "cancel", callId: "one", reason: "cancelled" });

  expect(await next.next("result")).toMatchObject({ outcome: { code: "cancelled" } });
});

const define = (options: object) =>
  defineFunction({
    name: "export_orders",
    description: "Exports all orders.",
    input: z.object({}),
    roles: everyone,
    handler: () => null,
    ...options,
  });

test.each([
  [{}, 60_000],
  [{ timeoutMs: 86_400_000 }, 86_400_000],
  [{ detached: true }, 3_600_000],
  [{ detached: true, timeoutMs: 604_800_000 }, 604_800_000],
])("a function with %o may take %d ms", (options, timeoutMs) => {
  const { manifest } = define(options);
  expect(manifest.timeoutMs).toBe(timeoutMs);
  expect(manifest.detached).toBe("detached" in options ? true : undefined);
});

test.each([
  [{ timeoutMs: 86_400_001 }, "timeoutMs must be an integer from 1 to 86400000"],
  [{ detached: true, timeoutMs: 604_800_001 }, "timeoutMs must be an integer from 1 to 604800000"],
  [{ detached: "yes" }, "detached must be true or false"],
])("a function with %o is refused", (options, message) => {
  expect(() => define(options)).toThrow(DefinitionError);
  expect(() => define(options)).toThrow(message);
});

test("the progress of a detached function whose results are withheld stays in the process", async () => {
  const handler = (_: unknown, { progress }: { progress: (data: unknown) => void }) => {
    progress("secret");
    return null;
  };
  const functions = [define({ detached: true, handler })];
  const service = defineService({ name: "shop", results: "withhold", beforeAnswer: async () => undefined, functions });
  const { connection } = await connected(service);

  connection.send({ ...detached("one"), function: "export_orders", arguments: {} });

  expect(await connection.next("result")).toMatchObject({ outcome: { ok: true } });
  expect(connection.inbox.rest).toEqual([running("one")]);
});
