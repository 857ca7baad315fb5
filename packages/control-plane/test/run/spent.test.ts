import { expect, test } from "vitest";
import { ModelError, type ModelCatalog, type TokenUsage } from "../../src/ports/model-provider.ts";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { type ScriptedTurn, scriptedModel } from "./scripted-model.ts";

const used: TokenUsage = { input: 100, cachedInput: 40, cacheWriteInput: 50, output: 10 };
const empty: ScriptedTurn = { text: "", usage: used };
/** A price that doubles for a long input. */
const cost = ({ input, output }: TokenUsage): number => (input > 150 ? 2 : 1) * input + output;

async function paying(turns: ScriptedTurn[], { runTimeoutMs = 10_000, balance = 1_000_000 } = {}) {
  const { catalog, requests } = scriptedModel(turns);
  const models: ModelCatalog = { choose: (wanted) => ({ ...catalog.choose(wanted), cost }) };
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok(1));
  const core = await startCore({ models, gateway, tier: "starter", runTimeoutMs });
  await core.store.accounts.grant("org_1", balance);
  return { ...core, requests, [Symbol.asyncDispose]: () => core[Symbol.asyncDispose]() };
}

test("an attempt that does not count is charged, at its own price", async () => {
  await using core = await paying([empty, { text: "Done.", usage: used }]);

  const { usage } = await core.query("Hi");

  expect(usage).toEqual({
    inputTokens: 200,
    cachedInputTokens: 80,
    cacheWriteInputTokens: 100,
    outputTokens: 20,
    costUsd: 0.00022,
  });
  expect(await core.store.accounts.balance("org_1")).toBe(1_000_000 - 220);
});

test("a turn that was too long for the model is charged, although a shorter one is asked for", async () => {
  const long = { text: "Go on. ".repeat(100) };
  await using core = await paying([long, { stop: "context_window", usage: used }, { text: "Done.", usage: used }]);

  const { threadId } = await core.query("Begin");
  const { success, usage } = await core.query("And now?", { threadId });

  expect(success).toBe(true);
  expect(usage).toMatchObject({ inputTokens: 200, costUsd: 0.00022 });
});

test("what was paid before a provider failed is in the usage of the failed run and in the ledger", async () => {
  const down = { fail: new ModelError("authentication", "refused") };
  await using core = await paying([empty, down]);

  const answer = await core.query("Hi");

  expect(answer).toMatchObject({ code: "provider_error", usage: { inputTokens: 100, costUsd: 0.00011 } });
  expect(await core.store.accounts.balance("org_1")).toBe(1_000_000 - 110);
  const parts = await core.store.console.runs.parts("org_1", "agt_1", answer.runId);
  expect(parts?.turns).toMatchObject([{ step: 0, costMicros: 110, timing: { retries: [{ code: "empty" }] } }]);
  expect(parts?.unanswered).toBeUndefined();
});

test("what was paid before the deadline is in the usage of the run", async () => {
  await using core = await paying([empty, { until: new Promise(() => {}) }], { runTimeoutMs: 1_000 });

  expect(await core.query("Hi")).toMatchObject({ code: "deadline_exceeded", usage: { inputTokens: 100 } });
});

test("an attempt is not repeated where the balance no longer covers the next one", async () => {
  await using core = await paying([{ ...empty, usage: { ...used, output: 500 } }, { text: "Done." }], {
    balance: 3_100,
  });

  const answer = await core.query("Hi", { maxTokens: 800 });

  expect(answer).toMatchObject({ code: "insufficient_credits", usage: { inputTokens: 100, costUsd: 0.0006 } });
  expect(core.requests).toHaveLength(1);
  expect(await core.store.accounts.balance("org_1")).toBe(3_100 - 600);
});
