import { expect, test } from "vitest";
import { openStore } from "@patchbay/store/open";
import { createMetrics } from "../../../control-plane/src/start/metrics.ts";
import { memoryStore, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const MANIFEST = manifestOf({ pay: "everyone" });
const never = new Promise<never>(() => {});
const idempotency = { key: "once", bodyHash: "same" };

/** A run that paid and lost its owner, was then cancelled, and is ended by another owner. */
async function takenOver(next: Parameters<typeof startCore>[0]["models"]) {
  const store = await openStore("sqlite::memory:");
  const asked = Promise.withResolvers<void>();
  const model = scriptedModel((_, index) => {
    if (index === 0) return { calls: [["pay", { amount: 5 }]] };
    asked.resolve();
    return { until: never };
  });
  const { gateway } = fakeGateway(MANIFEST, () => ok("paid"));
  const first = await startCore({ models: model.catalog, gateway, store });
  const run = await first.start("Pay", { idempotency });
  await asked.promise;
  await first.runs.drain(0);
  await store.runs.requestCancel("agt_1", run.runId);

  const second = await startCore({ models: next, gateway, store, owner: "replica-2" });
  const result = await second.result(run);
  return {
    run,
    result,
    joined: await second.runs.join(second.caller, idempotency.key, idempotency.bodyHash),
    async [Symbol.asyncDispose]() {
      await second[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

test("a run that another owner only ends reports its calls and usage, and keeps its Idempotency-Key", async () => {
  await using ended = await takenOver(scriptedModel([]).catalog);

  expect(ended.result).toMatchObject({
    code: "cancelled",
    toolInteractions: [{ toolName: "pay", success: true, result: "paid" }],
    usage: { inputTokens: 10, outputTokens: 5 },
  });
  expect(ended.joined).toMatchObject({ runId: ended.run.runId });
});

test("a run whose provider is no longer configured reports its calls", async () => {
  await using ended = await takenOver({ choose: () => ({ missing: "scripted" }) });

  expect(ended.result?.toolInteractions).toMatchObject([{ toolName: "pay", success: true }]);
  expect(ended.joined).toMatchObject({ runId: ended.run.runId });
});

test("a lease that another owner took is counted as lost, and each run in progress as a lease that is held", async () => {
  await using store = await memoryStore();
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = scriptedModel(() => {
    asked.resolve();
    return { text: "Late.", until: answer.promise };
  });
  const { gateway } = fakeGateway(MANIFEST, () => ok("paid"));
  const metrics = createMetrics();
  await using first = await startCore({ models: slow.catalog, gateway, store, metrics });
  const run = await first.start("Pay");
  await asked.promise;
  expect(await metrics.read()).toMatch(/^patchbay_leases_held 1$/m);

  // The owner itself may claim a run that it was made to release.
  for (let taken = 0; taken === 0;) {
    await store.runs.release("replica-1", [run.runId]);
    taken = (await store.runs.claim({ owner: "replica-2", leaseMs: 15_000, orgId: "org_1", limit: 1 })).length;
  }
  answer.resolve();

  await expect.poll(() => metrics.read()).toMatch(/^patchbay_leases_lost_total [1-9]$/m);
  await expect.poll(() => metrics.read()).toMatch(/^patchbay_leases_held 0$/m);
});
