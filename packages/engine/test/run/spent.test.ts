import { consoleOf } from "../../../store/test/contract/world.ts";
import { expect, test } from "vitest";
import type { Clock } from "../../src/ports/clock.ts";
import {
  ModelError,
  type ModelCatalog,
  type ModelRequest,
  type PartialUsage,
  type TokenUsage,
} from "../../src/ports/model-provider.ts";
import { billed, estimatedInput } from "../../src/run/loop/cost.ts";
import { systemClock } from "../../../control-plane/src/start/clocks.ts";
import { type CoreOptions, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel, type ScriptedTurn } from "./scripted-model.ts";

const used: TokenUsage = { input: 100, cachedInput: 40, cacheWriteInput: 50, output: 10 };
const empty: ScriptedTurn = { text: "", usage: used };
/** A price that doubles for a long input. */
const cost = ({ input, output }: TokenUsage): number => (input > 150 ? 2 : 1) * input + output;

/** Makes the pauses between attempts short. */
const clock: Clock = { ...systemClock, sleep: (ms, options) => systemClock.sleep(ms / 50, options) };

async function paying(
  turns: ScriptedTurn[],
  { balance = 1_000_000, ...options }: Partial<CoreOptions> & { balance?: number } = {},
) {
  const { catalog, requests } = scriptedModel(turns);
  const models: ModelCatalog = { choose: (wanted) => ({ ...catalog.choose(wanted), cost }) };
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok(1));
  const core = await startCore({ models, gateway, tier: "starter", clock, ...options });
  await core.store.accounts.grant("org_1", balance);
  const left = () => core.store.accounts.balance("org_1");
  async function cancelled(when: Promise<void>) {
    const run = await core.start("Hi", { maxTokens: 800 });
    await when;
    await core.runs.cancel(core.caller, run.runId);
    return await core.result(run);
  }
  return { ...core, gateway, requests, left, cancelled };
}

test("a discarded attempt is charged at its own price", async () => {
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

test("a turn that was too long for the model is charged in addition to the shorter one", async () => {
  const long = { text: "Hello. ".repeat(100) };
  await using core = await paying([long, { stop: "context_window", usage: used }, { text: "Done.", usage: used }]);

  const { threadId } = await core.query("Begin");
  const { success, usage } = await core.query("And now?", { threadId });

  expect(success).toBe(true);
  expect(usage).toMatchObject({ inputTokens: 200, costUsd: 0.00022 });
});

test("attempts before a provider failed are in the usage of the failed run and in the ledger", async () => {
  const down = { fail: new ModelError("authentication", "refused") };
  await using core = await paying([empty, down]);

  const answer = await core.query("Hi");

  expect(answer).toMatchObject({ code: "provider_error", usage: { inputTokens: 100, costUsd: 0.00011 } });
  expect(await core.store.accounts.balance("org_1")).toBe(1_000_000 - 110);
  const parts = await consoleOf(core.store).runs.parts({ orgId: "org_1", agentId: "agt_1" }, answer.runId);
  expect(parts?.turns).toMatchObject([{ step: 0, costMicros: 110, timing: { retries: [{ code: "empty" }] } }]);
  expect(parts?.unanswered).toBeUndefined();
});

test("attempts before the deadline are in the usage of the run", async () => {
  await using core = await paying([empty, { until: new Promise(() => {}) }], { runTimeoutMs: 5_000 });

  expect(await core.query("Hi")).toMatchObject({ code: "deadline_exceeded", usage: { inputTokens: 100 } });
});

test("an attempt is not repeated when the balance does not cover another one", async () => {
  await using core = await paying([{ ...empty, usage: { ...used, output: 500 } }, { text: "Done." }], {
    balance: 3_100,
  });

  const answer = await core.query("Hi", { maxTokens: 800 });

  expect(answer).toMatchObject({ code: "insufficient_credits", usage: { inputTokens: 100, costUsd: 0.0006 } });
  expect(core.requests).toHaveLength(1);
  expect(await core.store.accounts.balance("org_1")).toBe(3_100 - 600);
});

/** A cut attempt: 100 tokens of input, 15 of output. */
const cut: PartialUsage = { counted: used, uncountedBytes: 20 };
const USED = {
  inputTokens: 100,
  cachedInputTokens: 40,
  cacheWriteInputTokens: 50,
  outputTokens: 15,
  costUsd: 0.000115,
};
const broken = (more: ScriptedTurn = {}): ScriptedTurn => ({
  text: "Half of",
  cut,
  fail: new ModelError("truncated", "cut off"),
  ...more,
});

test("an answer that was shown is charged when its run is cancelled", async () => {
  const shown = Promise.withResolvers<void>();
  await using core = await paying([{ text: "The whole answer.", cut, stall: shown.resolve }]);

  expect(await core.cancelled(shown.promise)).toMatchObject({ code: "cancelled", response: "", usage: USED });
  expect(await core.left()).toBe(1_000_000 - 115);
});

test("an answer that was shown is charged when the deadline passes", async () => {
  await using core = await paying([{ text: "The whole answer.", cut, stall() {} }], { runTimeoutMs: 5_000 });

  expect(await core.query("Hi")).toMatchObject({ code: "deadline_exceeded", usage: USED });
  expect(await core.left()).toBe(1_000_000 - 115);
});

test("each answer that a provider cut off is charged, although the run then fails", async () => {
  await using core = await paying([broken(), broken(), broken()]);

  const answer = await core.query("Hi");

  expect(answer).toMatchObject({ code: "provider_error", usage: { inputTokens: 300, costUsd: 0.000345 } });
  expect(core.requests).toHaveLength(3);
  expect(await core.left()).toBe(1_000_000 - 345);
});

test("an answer that a provider cut off is charged together with the next one", async () => {
  await using core = await paying([broken(), { text: "Done.", usage: used }]);

  const answer = await core.query("Hi");

  expect(answer).toMatchObject({ response: "Done.", usage: { inputTokens: 200, outputTokens: 25, costUsd: 0.000225 } });
  expect(await core.left()).toBe(1_000_000 - 225);
});

test("attempts without any answer of the provider cost nothing", async () => {
  const down: ScriptedTurn = { fail: new ModelError("overloaded", "answered 503") };
  await using core = await paying([down, down, down]);

  expect(await core.query("Hi")).toMatchObject({ code: "provider_error", usage: { inputTokens: 0, costUsd: 0 } });
  expect(await core.left()).toBe(1_000_000);
});

test("an attempt is not repeated when the balance does not cover it in addition to a cut one", async () => {
  const long = broken({ cut: { counted: { ...used, output: 500 }, uncountedBytes: 0 } });
  await using core = await paying([long, { text: "Done." }], { balance: 3_100 });

  expect(await core.query("Hi", { maxTokens: 800 })).toMatchObject({
    code: "insufficient_credits",
    usage: { inputTokens: 100, costUsd: 0.0006 },
  });
  expect(core.requests).toHaveLength(1);
  expect(await core.left()).toBe(3_100 - 600);
});

test("a cut attempt that cost more than its reservation does not make the balance negative", async () => {
  const long = broken({ cut: { counted: { ...used, input: 1_000_000 }, uncountedBytes: 0 } });
  await using core = await paying([long, { text: "Done." }], { balance: 5_000 });

  expect(await core.query("Hi", { maxTokens: 800 })).toMatchObject({ code: "insufficient_credits" });
  expect(await core.left()).toBe(0);
});

test("a turn is charged when its run is cancelled while its calls wait for a runtime", async () => {
  const waits = Promise.withResolvers<void>();
  await using core = await paying([{ text: "Opening.", calls: [["open", {}]], usage: used }]);
  core.gateway.assign = (_agent, _hash, _name, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
      waits.resolve();
    });

  expect(await core.cancelled(waits.promise)).toMatchObject({
    code: "cancelled",
    toolInteractions: [],
    usage: { inputTokens: 100, costUsd: 0.00011 },
  });
  expect(await core.left()).toBe(1_000_000 - 110);
});

const asked: ModelRequest = {
  model: "m",
  system: "x".repeat(2_700),
  functions: [],
  messages: [{ role: "user", text: "y".repeat(300) }],
  maxTokens: 50,
  toolChoice: "auto",
  threadId: "thread",
  cacheKey: "key",
};

const asksFor = estimatedInput({ inputRatio: 2 }, asked);

test.each([
  ["nothing is counted", { input: 0, output: 0 }, 100, { input: asksFor, output: 25 }],
  ["nothing is counted or written", { input: 0, output: 0 }, 0, { input: asksFor, output: 0 }],
  ["only the beginning is counted", { input: 70, output: 3 }, 10, { input: 70, output: 6 }],
  ["all is counted", { input: 70, output: 300 }, 0, { input: 70, output: 300 }],
  ["more is written than maxTokens can be", { input: 70, output: 3 }, 10_000, { input: 70, output: 50 }],
])("the rest of a cut attempt is estimated when %s", (_name, counted, uncountedBytes, expected) => {
  expect(asksFor).toBeGreaterThan(2_000);
  const usage = billed({ inputRatio: 2 }, asked, { counted: { ...counted, cachedInput: 0 }, uncountedBytes });
  expect(usage).toEqual({ ...expected, cachedInput: 0 });
});
