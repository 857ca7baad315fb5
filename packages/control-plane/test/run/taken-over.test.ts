import { expect, test } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const MANIFEST = manifestOf({ pay: "everyone" });
const never = new Promise<never>(() => {});
const idempotency = { key: "once", bodyHash: "same" };

/** A run that paid, was asked to be cancelled while nobody worked on it, and is then taken up by another owner. */
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
  const run = await first.runs.start(first.caller, { query: "Pay", analysisMode: false, maxTokens: 100, idempotency });
  await asked.promise;
  await first.runs.drain(0);
  await store.runs.requestCancel("agt_1", run.runId);

  const second = await startCore({ models: next, gateway, store, owner: "replica-2" });
  const result = await second.runs.result(run, { signal: AbortSignal.timeout(5_000) });
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

test("a run that another owner ends at once still tells what it did, and keeps its Idempotency-Key", async () => {
  await using ended = await takenOver(scriptedModel([]).catalog);

  expect(ended.result).toMatchObject({
    code: "cancelled",
    toolInteractions: [{ toolName: "pay", success: true, result: "paid" }],
    usage: { inputTokens: 10, outputTokens: 5 },
  });
  expect(ended.joined).toMatchObject({ runId: ended.run.runId });
});

test("a run whose provider is configured no more still tells what it did", async () => {
  await using ended = await takenOver({ choose: () => ({ missing: "scripted" }) });

  expect(ended.result?.toolInteractions).toMatchObject([{ toolName: "pay", success: true }]);
  expect(ended.joined).toMatchObject({ runId: ended.run.runId });
});
