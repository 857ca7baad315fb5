import { expect, test } from "vitest";
import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import { asks, desk, refund, turnsOf } from "./approval-desk.ts";
import { memoryStore } from "./core.ts";

/** Replicas on one store, which die one after the other. */
async function replicas() {
  const store = await memoryStore();
  const bus = createMemoryBus();
  return {
    open: (
      owner: string,
      options: Parameters<typeof desk>[1] = {},
      turns: Parameters<typeof desk>[0] = turnsOf(refund(200)),
    ) => desk(turns, { store, bus, owner, ...options }),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

const never = new Promise<never>(() => {});

test("a replica that dies before the request is stored leaves it to the next one", async () => {
  await using cluster = await replicas();
  const asked = Promise.withResolvers<void>();
  const first = await cluster.open("replica-1", {
    answer() {
      asked.resolve();
      return never;
    },
  });
  const run = await first.begin();
  await asked.promise;
  await first[Symbol.asyncDispose]();

  await using second = await cluster.open("replica-2", {}, () => ({ text: "Done." }));

  expect(await second.result(run)).toMatchObject({ code: "approval_required", approvals: [{ toolName: "refund" }] });
  expect(await second.pending()).toHaveLength(1);
  expect(second.runtime.orders).toMatchObject([{ attempt: 1 }]);
});

test("a replica that dies after the request is stored does not ask again", async () => {
  await using cluster = await replicas();
  const busy = Promise.withResolvers<void>();
  const first = await cluster.open(
    "replica-1",
    {
      answer({ functionName }) {
        if (functionName === "refund") return asks();
        busy.resolve();
        return never;
      },
    },
    turnsOf(refund(200), ["look_up", {}]),
  );
  const run = await first.begin();
  await busy.promise;
  while ((await first.pending()).length === 0) await new Promise(setImmediate);
  await first[Symbol.asyncDispose]();

  await using second = await cluster.open("replica-2", {}, () => ({ text: "Done." }));

  expect(await second.result(run)).toMatchObject({
    toolInteractions: [{ code: "approval_required" }, { toolName: "look_up", success: true }],
  });
  expect(second.runtime.orders.map(({ functionName }) => functionName)).toEqual(["look_up"]);
  expect((await second.events(run.runId)).filter(({ type }) => type === "approvalRequest")).toHaveLength(1);
});

test("a replica that dies while an approved call runs does not deliver it again", async () => {
  await using cluster = await replicas();
  const running = Promise.withResolvers<void>();
  const first = await cluster.open("replica-1", {
    answer({ approval }) {
      if (!approval) return asks();
      running.resolve();
      return never;
    },
  });
  const run = await first.begin();
  await first.result(run);
  await first.decide({ approved: true });
  await running.promise;
  await first[Symbol.asyncDispose]();

  await using second = await cluster.open("replica-2", {}, () => ({ text: "Done." }));

  expect(await second.ended(run)).toMatchObject({ success: true });
  expect(second.runtime.orders).toMatchObject([{ attempt: 2, approval: { decidedAs: "manager" } }]);
  expect((await second.events(run.runId)).filter(({ type }) => type === "approvalDecision")).toHaveLength(1);
});
