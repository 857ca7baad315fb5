import { expect, test } from "vitest";
import { type ChosenModel, type ModelCatalog, ModelError, type TokenUsage } from "../../src/ports/model-provider.ts";
import type { Query } from "../../src/run/api.ts";
import { memoryStore, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel, type ScriptedTurn } from "./scripted-model.ts";

const CALL: ScriptedTurn = { calls: [["open", {}]], usage: { input: 1_000, cachedInput: 0, output: 100 } };
const DONE: ScriptedTurn = { text: "Done." };

/** A turn costs 1 micro-USD for each token of input and 2 for each of output. */
async function capped(maxCostMicros: number, turns: ScriptedTurn[], price: { known: boolean } = { known: true }) {
  const { catalog, requests } = scriptedModel(turns);
  const unpriced: ModelCatalog = { choose: () => ({ ...(catalog.choose() as ChosenModel), cost: () => undefined }) };
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok("found"));
  const core = await startCore({ models: price.known ? catalog : unpriced, gateway });
  await core.store.accounts.updateAgent("agt_1", { settings: { maxCostUsd: maxCostMicros / 1_000_000 } });
  const ask = ({ query = "Look it up", ...more }: Partial<Query> = {}) =>
    core.query(query, { maxTokens: 500, ...more });
  return { ask, requests, core, [Symbol.asyncDispose]: core[Symbol.asyncDispose] };
}

test("a run ends before the turn that could exceed its cost cap, and keeps the calls it made", async () => {
  await using system = await capped(2_200, [CALL, DONE]);

  const answer = await system.ask();

  expect(answer).toMatchObject({ success: false, response: "", code: "budget_exceeded" });
  expect(answer.toolInteractions).toMatchObject([{ toolName: "open", success: true, result: "found" }]);
  expect(answer.usage).toMatchObject({ inputTokens: 1_000, costUsd: 0.0012 });
  expect(system.requests).toHaveLength(1);
});

test("the error names the cap, the cost so far, the possible cost of the turn and what to change", async () => {
  await using system = await capped(2_200, [CALL, DONE]);

  const { errorMessage } = await system.ask();

  expect(errorMessage).toMatch(
    /^The next model turn could exceed the run's cost cap of \$0\.0022, so the run ended before it: \$0\.0012 is spent, and the turn may cost up to \$0\.002\d+ \(1,\d+ input and 500 output tokens at most\)\. Raise the cap \(maxCostUsd of the agent\) or lower maxTokens\.$/,
  );
});

test("a run within its cost cap succeeds", async () => {
  await using system = await capped(5_000, [CALL, DONE]);

  expect(await system.ask()).toMatchObject({ success: true, response: "Done." });
});

test("a run whose first turn could exceed the cap asks no model", async () => {
  await using system = await capped(1_500, [DONE]);

  expect(await system.ask()).toMatchObject({ code: "budget_exceeded", usage: { costUsd: 0 } });
  expect(system.requests).toEqual([]);
});

test("a lower maxTokens lets a turn fit", async () => {
  await using system = await capped(1_500, [DONE]);

  expect(await system.ask({ maxTokens: 100 })).toMatchObject({ success: true });
});

test("a discarded attempt counts towards the cap, and no retry may exceed it", async () => {
  const empty: ScriptedTurn = { text: "", usage: { input: 1_000, cachedInput: 0, output: 100 } };
  await using system = await capped(2_000, [empty, DONE]);

  const answer = await system.ask();

  expect(answer).toMatchObject({ code: "budget_exceeded", usage: { inputTokens: 1_000, costUsd: 0.0012 } });
  expect(system.requests).toHaveLength(1);
});

test("an attempt that was cut off counts towards the cap, and no retry may exceed it", async () => {
  const cut: ScriptedTurn = {
    text: "Half",
    cut: { counted: { input: 1_000, cachedInput: 0, output: 100 }, uncountedBytes: 0 },
    fail: new ModelError("truncated", "cut off"),
  };
  await using system = await capped(2_000, [cut, DONE]);

  const answer = await system.ask();

  expect(answer).toMatchObject({ code: "budget_exceeded", usage: { inputTokens: 1_000, costUsd: 0.0012 } });
  expect(system.requests).toHaveLength(1);
});

test.each<[string, ScriptedTurn]>([
  ["its next turn", { calls: [["open", {}]] }],
  ["the second attempt at a turn", { text: "" }],
])("a run whose text has more tokens than estimated ends before %s could exceed its cap", async (_name, first) => {
  const digits = "7".repeat(60_000);
  const usage = { input: 30_000, cachedInput: 0, output: 10 };
  // Two turns of it cost 60,000 micro-USD, and the estimate of each would be less than 22,000.
  await using system = await capped(55_000, [{ ...first, usage }, DONE]);

  const answer = await system.ask({ query: digits, maxTokens: 100 });

  expect(answer).toMatchObject({ code: "budget_exceeded", usage: { inputTokens: 30_000 } });
  expect(system.requests).toHaveLength(1);
});

test("a turn without reported usage does not change the estimate of the next turn", async () => {
  const usage = { input: 0, cachedInput: 0, output: 0 };
  await using system = await capped(2_200, [{ ...CALL, usage }, DONE]);

  expect(await system.ask()).toMatchObject({ success: true });
});

test.each([
  ["what an earlier owner of the run spent counts", ({ output }: TokenUsage) => output * 5, "budget_exceeded"],
  ["a run whose model lost its price ends", () => undefined, "model_not_allowed"],
])("%s", async (_name, cost, code) => {
  await using store = await memoryStore();
  const asked = Promise.withResolvers<void>();
  const first = scriptedModel((_, index) => {
    if (index === 0) return CALL;
    asked.resolve();
    return { until: new Promise(() => {}) };
  });
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok("found"));
  await using owner = await startCore({ models: first.catalog, gateway, store });
  await store.accounts.updateAgent("agt_1", { settings: { maxCostUsd: 0.0035 } });
  const run = await owner.start("Look it up", { maxTokens: 500 });
  await asked.promise;
  await owner.runs.drain(0);

  // The next owner has other prices.
  const next = scriptedModel([DONE]);
  const model = { ...(next.catalog.choose() as ChosenModel), cost };
  await using heir = await startCore({ models: { choose: () => model }, gateway, store, owner: "replica-2" });
  const result = await heir.result(run);

  expect(result).toMatchObject({ code, usage: { costUsd: 0.0012 } });
  expect(next.requests).toEqual([]);
});

test("a run with a cost cap fails when its model has no price", async () => {
  await using system = await capped(1_000_000, [DONE], { known: false });

  const answer = await system.ask();

  expect(answer).toMatchObject({ success: false, code: "model_not_allowed" });
  expect(answer.errorMessage).toBe(
    "No price is known for model scripted-1, so the run cannot keep its cost cap of $1.00. Use another model, ask the operator to add its price (--prices), or remove the cap (maxCostUsd of the agent).",
  );
  expect(system.requests).toEqual([]);
});

test("a query for a run with a cost cap is rejected with 400 when it names a model without a price", async () => {
  await using system = await capped(1_000_000, [DONE], { known: false });

  await expect(system.ask({ llm: { provider: "gemini", model: "gemini-next" } })).rejects.toMatchObject({
    code: "model_not_allowed",
    details: [{ path: "llmConfig.model" }],
  });
});

test("a fallback model that could exceed the cap is not asked", async () => {
  const failing = scriptedModel([{ fail: new ModelError("authentication", "refused") }]);
  const dear = scriptedModel([DONE]);
  const cheap = failing.catalog.choose() as ChosenModel;
  const { provider } = dear.catalog.choose() as ChosenModel;
  const next: ChosenModel = { ...cheap, provider: { ...provider, name: "openai" }, cost: ({ output }) => output * 9 };
  const models: ModelCatalog = { choose: (wanted) => (wanted?.provider === "openai" ? next : cheap) };
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok("found"));
  await using core = await startCore({ models, gateway });
  await core.store.accounts.updateAgent("agt_1", {
    settings: { maxCostUsd: 0.002, fallback: [{ provider: "openai" }] },
  });

  const answer = await core.query("Look it up", { maxTokens: 500 });

  expect(answer).toMatchObject({ code: "budget_exceeded", errorMessage: expect.stringContaining("$0.0045") as string });
  expect([failing.requests.length, dear.requests.length]).toEqual([1, 0]);
});
