import type { Service } from "@patchbay/functions";
import { expect, test } from "vitest";
import { callFrame } from "@patchbay/test-support/fake-control-plane";
import { fakeService, gated } from "@patchbay/test-support/fake-service";
import { plane, runtimeOf } from "./hand-plane.ts";

async function connected(service: Service) {
  const started = await plane();
  const runtime = runtimeOf(started.url, service);
  return { runtime, connection: await started.welcome() };
}

const BUSY = { ok: false, code: "function_failed", message: "busy", retryAfterMs: 20 } as const;

test.each([true, false])(
  "a later attempt runs after a failure that is retried (acknowledged: %s)",
  async (acknowledged) => {
    const service = fakeService({
      answer: async ({ attempt }) => (attempt === 1 ? BUSY : { ok: true, value: attempt }),
    });
    const { connection } = await connected(service);
    connection.send(callFrame("c1"));
    expect(await connection.next("result")).toMatchObject({ attempt: 1, outcome: BUSY });
    if (acknowledged) connection.send({ type: "resultAck", callId: "c1" });

    connection.send({ type: "callQuery", callId: "c1", attempt: 2 });
    expect(await connection.next("callState")).toMatchObject({ attempt: 2, state: "unseen" });
    connection.send(callFrame("c1", { attempt: 1 }));
    expect(await connection.next("callState")).toMatchObject({ attempt: 1, state: "done" });
    await connection.next("result");
    connection.send(callFrame("c1", { attempt: 3 }));

    expect(await connection.next("result")).toMatchObject({ attempt: 3, outcome: { ok: true, value: 3 } });
    expect(service.invoked.map(({ attempt }) => attempt)).toEqual([1, 3]);
  },
);

test("a late acknowledgement of the attempt before leaves the result for its repetition", async () => {
  const service = fakeService({ answer: async ({ attempt }) => (attempt === 1 ? BUSY : { ok: true, value: attempt }) });
  const { connection } = await connected(service);
  connection.send(callFrame("c1"));
  await connection.next("result");
  connection.send(callFrame("c1", { attempt: 2 }));
  const second = await connection.next("result");

  connection.send({ type: "resultAck", callId: "c1", attempt: 1 });
  connection.send({ type: "callQuery", callId: "c1", attempt: 2 });

  expect(await connection.next("callState")).toMatchObject({ attempt: 2, state: "done" });
  expect(await connection.next("result")).toEqual(second);
});

test("a runtime that stops does not wait for the acknowledgement of a failure that was followed by an attempt elsewhere", async () => {
  const { connection, runtime } = await connected(fakeService({ answer: async () => BUSY }));
  connection.send(callFrame("c1"));
  await connection.next("result");
  connection.send({ type: "callQuery", callId: "c1", attempt: 2 });
  await connection.next("callState");

  await expect(runtime.stop()).resolves.toBeUndefined();
});

test.each([
  ["delivered", callFrame("c1", { attempt: 2 })],
  ["asked about", { type: "callQuery", callId: "c1", attempt: 2 }],
])("a later attempt that is %s while the call runs ends with its result", async (_, frame) => {
  const gate = gated();
  const service = fakeService({
    answer: async (invocation, options) => {
      await gate.answer(invocation, options);
      return BUSY;
    },
  });
  const { connection } = await connected(service);
  connection.send(callFrame("c1"));
  connection.send(frame);
  connection.send({ type: "callQuery", callId: "c1", attempt: 1 });
  for (const attempt of [2, 1]) expect(await connection.next("callState")).toMatchObject({ attempt, state: "running" });

  gate.open();

  expect(await connection.next("result")).toMatchObject({ attempt: 2, outcome: BUSY });
  connection.send(callFrame("c1", { attempt: 2 }));
  expect(await connection.next("callState")).toMatchObject({ attempt: 2, state: "done" });
  expect(service.invoked).toHaveLength(1);
});
