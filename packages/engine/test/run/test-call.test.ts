import { expect, test } from "vitest";
import { createModelCatalog } from "@patchbay/models/catalog";
import { createOfflineProvider } from "@patchbay/models/offline";
import { memoryStore, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const MANIFEST = manifestOf({ pay: "everyone", refund: ["agent"] });
const never = new Promise<never>(() => {});
const noModel = { choose: () => ({ missing: "none" }) };

const testCallOf = (functionName: string, input = {}) => ({ testCall: { functionName, arguments: input } });

test("a test call makes its one call without a model, and ends", async () => {
  const runtime = fakeGateway(MANIFEST, () => ok({ paid: 5 }));
  await using core = await startCore({ models: noModel, gateway: runtime.gateway });

  const result = await core.query("pay", { ...testCallOf("pay", { amount: 5 }), role: "agent", context: { shop: 1 } });

  expect(runtime.orders).toMatchObject([
    { functionName: "pay", arguments: { amount: 5 }, role: "agent", context: { shop: 1 } },
  ]);
  expect(result).toMatchObject({
    success: true,
    toolInteractions: [{ toolName: "pay", success: true, result: { paid: 5 } }],
    usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
  });
  expect(await core.store.runs.get("agt_1", result.runId)).toMatchObject({ request: { provider: "test_call" } });
});

test.each(["refund", "no_such_function"])(
  "a test call of %s with a role that may not call it is refused like a call of a model",
  async (name) => {
    const runtime = fakeGateway(MANIFEST, () => ok(1));
    const model = scriptedModel([{ calls: [[name, { id: 1 }]] }, { text: "Refused." }]);
    await using core = await startCore({ models: model.catalog, gateway: runtime.gateway });

    const asked = await core.query("Call it", { role: "customer" });
    const tried = await core.query(name, { ...testCallOf(name, { id: 1 }), role: "customer" });

    expect(runtime.orders).toEqual([]);
    expect(tried.toolInteractions).toEqual(asked.toolInteractions);
    const rules = async (runId: string) =>
      (await core.store.audit.list({ agentId: "agt_1", runId, action: "call", limit: 9 })).items.map(
        ({ action, rule, functionName, role }) => ({ action, rule, functionName, role }),
      );
    const denied = { action: "call.denied", rule: name === "refund" ? "roles" : "unknown", functionName: name };
    expect(await rules(tried.runId)).toEqual([{ ...denied, role: "customer" }]);
    expect(await rules(tried.runId)).toEqual(await rules(asked.runId));
  },
);

test("a test call is free and needs no credit", async () => {
  const runtime = fakeGateway(MANIFEST, () => ok(1));
  await using core = await startCore({ models: noModel, gateway: runtime.gateway, tier: "starter" });

  expect(await core.query("pay", testCallOf("pay"))).toMatchObject({ success: true });
  expect(await core.store.accounts.balance("org_1")).toBe(0);
});

test("another owner continues a test call and asks for the outcome of the sent call", async () => {
  await using store = await memoryStore();
  const sent = Promise.withResolvers<void>();
  const lost = fakeGateway(MANIFEST, async () => {
    sent.resolve();
    return never;
  });
  const first = await startCore({ models: noModel, gateway: lost.gateway, store });
  const run = await first.start("pay", testCallOf("pay", { amount: 5 }));
  await sent.promise;
  await first.runs.drain(0);

  const found = fakeGateway(
    MANIFEST,
    () => ok("a second payment"),
    () => ok("paid"),
  );
  await using second = await startCore({ models: noModel, gateway: found.gateway, store, owner: "replica-2" });
  const result = await second.result(run);

  expect(result).toMatchObject({
    success: true,
    toolInteractions: [{ toolName: "pay", parameters: { amount: 5 }, result: "paid" }],
  });
  expect(found.orders).toHaveLength(1);
});

test("no catalog offers the provider of test calls", async () => {
  const models = createModelCatalog({ offline: createOfflineProvider() });
  await using core = await startCore({ models, gateway: fakeGateway(MANIFEST, () => ok(1)).gateway });

  const result = await core.query("Hi", { llm: { provider: "test_call" as never } });

  expect(result).toMatchObject({ code: "provider_not_configured" });
});
