import { expect, test } from "vitest";
import type { NewRun } from "../../src/ports/store/run-store.ts";
import { memoryStore, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const MANIFEST = manifestOf({ open: "everyone" });

function newRun(runId: string, change: Partial<NewRun>): NewRun {
  return {
    runId,
    orgId: "org_1",
    agentId: "agt_1",
    keyId: "key_1",
    threadId: "thr_1",
    newThread: false,
    kind: "query",
    manifestHash: "hash",
    timeoutMs: 60_000,
    owner: "another-replica",
    leaseMs: 60_000,
    audit: [],
    request: {
      query: "Hi",
      context: {},
      analysisMode: false,
      provider: "scripted",
      model: "scripted-1",
      maxTokens: 100,
      system: "",
      charged: false,
      warnings: [],
    },
    ...change,
  };
}

test("a query whose deadline passed while it waited ends without a model request", async () => {
  await using store = await memoryStore();
  const model = scriptedModel(() => ({ text: "too late" }));
  const { gateway } = fakeGateway(MANIFEST, () => ok(1));
  await using core = await startCore({ models: model.catalog, gateway, store });
  await store.runs.start(newRun("run_busy", { newThread: true }));
  await store.runs.start(newRun("run_late", { timeoutMs: 0 }));

  const late = { runId: "run_late", threadId: "thr_1", agentId: "agt_1" };
  const result = await core.result(late);

  expect(result).toMatchObject({ success: false, code: "deadline_exceeded", errorMessage: "Run timed out" });
  expect(model.requests).toEqual([]);
});

test("a query that arrives after the hand-over fails as unavailable", async () => {
  const { gateway } = fakeGateway(MANIFEST, () => ok(1));
  await using core = await startCore({ models: scriptedModel([]).catalog, gateway });
  gateway.session = async (_, { signal }) => {
    signal.throwIfAborted();
    return undefined;
  };
  await core.runs.drain(0);

  await expect(core.start("Hi")).rejects.toMatchObject({ code: "unavailable" });
});
