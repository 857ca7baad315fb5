import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/ports/clock.ts";
import { silentMetrics } from "../../src/ports/metrics.ts";
import { ModelError, type ModelErrorKind } from "../../src/ports/model-provider.ts";
import type { Store } from "../../src/ports/stores.ts";
import { openStore } from "../../src/store/open.ts";
import { systemClock } from "../../src/system-clock.ts";
import { startCore, type CoreOptions } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { severalModels } from "./scripted-model.ts";

const MANIFEST = manifestOf({ pay: "everyone" });
/** Shortens the pauses between attempts. */
const clock: Clock = { ...systemClock, sleep: (ms, options) => systemClock.sleep(ms / 50, options) };
const fail = (kind: ModelErrorKind, message = "") => ({ fail: new ModelError(kind, message) });
const first = { provider: "anthropic", model: "first-1" };
const second = { provider: "openai", model: "second-1" };
const third = { provider: "gemini", model: "third-1" };

/** A core whose runs have a list of models. */
async function startDesk(
  models: ReturnType<typeof severalModels>,
  { fallback = [second, third], ...options }: Partial<CoreOptions> & { fallback?: (typeof first)[] } = {},
) {
  const runtime = fakeGateway(MANIFEST, () => ok("paid"));
  const core = await startCore({ models: models.catalog, gateway: runtime.gateway, clock, ...options });
  withFallback(core.store, fallback);
  return { ...core, runtime, [Symbol.asyncDispose]: () => core[Symbol.asyncDispose]() };
}

function withFallback({ runs }: Store, fallback: (typeof first)[]): void {
  const { start } = runs;
  runs.start = (run) => start({ ...run, request: { ...run.request, fallback } });
}

const name = ({ provider, model }: typeof first): string => `${provider}/${model}`;
const warning = (failed: typeof first, kind: ModelErrorKind, answered: typeof first): string =>
  `Model ${name(failed)} failed (${kind}): ${name(answered)} answered instead`;

describe("a model that fails", () => {
  const DECISIONS: Record<ModelErrorKind, { asked: number; falls: boolean }> = {
    rate_limited: { asked: 3, falls: true },
    overloaded: { asked: 3, falls: true },
    network: { asked: 3, falls: true },
    truncated: { asked: 3, falls: true },
    server: { asked: 3, falls: true },
    quota: { asked: 1, falls: true },
    authentication: { asked: 1, falls: true },
    unknown_model: { asked: 1, falls: true },
    bad_request: { asked: 1, falls: false },
    context_window: { asked: 1, falls: false },
    malformed: { asked: 1, falls: false },
  };

  test.each(Object.entries(DECISIONS))("with %s after its attempts: %o", async (kind, { asked, falls }) => {
    const failing = fail(kind as ModelErrorKind);
    const models = severalModels({ anthropic: () => failing, openai: [{ text: "Done." }], gemini: [] });
    await using desk = await startDesk(models);

    const answer = await desk.query("Pay");

    expect(models.asked()).toEqual({ anthropic: asked, openai: falls ? 1 : 0, gemini: 0 });
    if (falls)
      expect(answer).toMatchObject({
        success: true,
        response: "Done.",
        warnings: [warning(first, kind as ModelErrorKind, second)],
      });
    else expect(answer).toMatchObject({ success: false, code: "provider_error" });
  });

  test.each(["Corrupted thought signature.", "The encrypted content could not be verified."])(
    "for blocks of a model is replaced by one that gets none: %s",
    async (message) => {
      const models = severalModels({ anthropic: [fail("bad_request", message)], openai: [{ text: "Done." }] });
      await using desk = await startDesk(models);

      expect(await desk.query("Pay")).toMatchObject({ success: true, response: "Done." });
    },
  );

  test("by asking for a longer wait than the run can give is replaced at once", async () => {
    const busy = new ModelError("rate_limited", "slow down", { retryAfterMs: 31_000 });
    const models = severalModels({ anthropic: [{ fail: busy }], openai: [{ text: "Done." }] });
    await using desk = await startDesk(models, { runTimeoutMs: 240_000 });

    expect(await desk.query("Pay")).toMatchObject({ success: true, response: "Done." });
    expect(models.asked()).toEqual({ anthropic: 1, openai: 1 });
  });

  test("is followed by the models of the list in their order, and each is named", async () => {
    const models = severalModels({
      anthropic: () => fail("overloaded"),
      openai: [fail("authentication")],
      gemini: [{ text: "Done." }],
    });
    await using desk = await startDesk(models);

    expect(await desk.query("Pay")).toMatchObject({
      response: "Done.",
      warnings: [warning(first, "overloaded", third), warning(second, "authentication", third)],
    });
  });

  test("is passed over where its provider is no longer configured", async () => {
    const models = severalModels({ anthropic: [fail("quota")], gemini: [{ text: "Done." }] });
    await using desk = await startDesk(models);

    expect(await desk.query("Pay")).toMatchObject({ warnings: [warning(first, "quota", third)] });
  });

  test("ends the run where all others fail too, with the reason of each", async () => {
    const models = severalModels({ anthropic: [fail("quota")], openai: [fail("authentication")] });
    await using desk = await startDesk(models, { fallback: [second] });

    expect(await desk.query("Pay")).toMatchObject({
      code: "provider_error",
      errorMessage:
        "Model anthropic/first-1 failed: the account's quota or spending limit is used up. " +
        "Model openai/second-1 failed: it refused the configured API key",
    });
  });
});

test("a refusal ends the run, whatever models are left", async () => {
  const models = severalModels({ anthropic: [{ text: "No.", stop: "refused" }], openai: [{ text: "Done." }] });
  await using desk = await startDesk(models);

  expect(await desk.query("Pay")).toMatchObject({ code: "model_refused" });
  expect(models.asked()).toEqual({ anthropic: 1, openai: 0 });
});

test("after a function call the next model goes on, and keeps the rest of the run", async () => {
  const models = severalModels({
    anthropic: [{ calls: [["pay", {}]] }, fail("quota"), { text: "Back again." }],
    openai: [{ calls: [["pay", { more: 1 }]] }, { text: "Done." }],
  });
  await using desk = await startDesk(models);

  const answer = await desk.query("Pay");

  expect(answer).toMatchObject({ response: "Done.", warnings: [warning(first, "quota", second)] });
  expect(desk.runtime.orders.map((order) => order.arguments)).toEqual([{}, { more: 1 }]);
  expect(models.asked()).toEqual({ anthropic: 2, openai: 2 });
  expect(models.requests("openai").map(({ model }) => model)).toEqual([second.model, second.model]);
  const { turns } = await desk.store.runs.checkpoint(answer.runId);
  expect(turns).toMatchObject([first, second, second]);
});

test("the next model is sent what its predecessor found too long", async () => {
  const models = severalModels({
    anthropic: [{ text: "Before." }, fail("context_window"), fail("quota")],
    openai: [{ text: "Done." }],
  });
  await using desk = await startDesk(models);
  const { threadId } = await desk.query("Hello");

  expect(await desk.query("Pay", { threadId })).toMatchObject({ response: "Done." });

  const [, whole, shorter] = models.requests("anthropic").map(({ messages }) => messages.length);
  expect([whole, shorter]).toEqual([3, 1]);
  expect(models.requests("openai").map(({ messages }) => messages.length)).toEqual([3]);
});

test("the deltas of a model that failed are taken back", async () => {
  const half = Promise.withResolvers<void>();
  const models = severalModels({
    anthropic: () => ({ text: "Half ", ...fail("truncated") }),
    openai: [{ text: "Done.", until: half.promise }],
  });
  await using desk = await startDesk(models);
  const run = await desk.runs.start(desk.caller, { query: "Pay", analysisMode: false, maxTokens: 100 });
  const shown: string[] = [];
  const signal = AbortSignal.timeout(10_000);
  for await (const { body } of desk.runs.follow(run, { after: 0, deltas: true, signal })) {
    const event = JSON.parse(body) as { type: string; content?: string };
    shown.push(event.type === "responseDelta" ? `${event.content}` : event.type);
    if (shown.filter((one) => one === "deltaReset").length === 3) half.resolve();
  }

  expect(shown.slice(-3)).toEqual(["deltaReset", "Done.", "finalResponse"]);
});

describe("of what a run costs", () => {
  const models = () =>
    severalModels(
      { anthropic: [{ calls: [["pay", {}]] }, fail("quota")], openai: [{ text: "Done." }] },
      { anthropic: 1, openai: 10 },
    );

  test("each turn has the price of the model that answered", async () => {
    await using desk = await startDesk(models(), { tier: "starter" });
    await desk.store.accounts.grant("org_1", 1_000_000);

    expect(await desk.query("Pay", { maxTokens: 100 })).toMatchObject({ usage: { costUsd: 0.000_165 } });
    expect(await desk.store.accounts.balance("org_1")).toBe(1_000_000 - 165);
  });

  test("what a model wrote before it failed has its own price", async () => {
    const cut = { counted: { input: 100, cachedInput: 0, output: 10 }, uncountedBytes: 0 };
    const half = { text: "Half", cut, ...fail("malformed") };
    const rates = { anthropic: 1, openai: 10 };
    const models = severalModels({ anthropic: [{ ...half, ...fail("quota") }], openai: [half] }, rates);
    await using desk = await startDesk(models, { tier: "starter" });
    await desk.store.accounts.grant("org_1", 1_000_000);

    expect(await desk.query("Pay")).toMatchObject({ usage: { inputTokens: 200, outputTokens: 20, costUsd: 0.00121 } });
    expect(await desk.store.accounts.balance("org_1")).toBe(1_000_000 - 1_210);
  });

  test("as much is held as the model could cost that is asked", async () => {
    const dear = models();
    await using desk = await startDesk(dear, { tier: "starter" });
    const held: [number, number | undefined][] = [];
    const { hold } = desk.store.runs;
    desk.store.runs.hold = async (orgId, runId, step, micros) => {
      const now = await hold(orgId, runId, step, micros);
      held.push([step, now]);
      return now;
    };
    await desk.store.accounts.grant("org_1", 1_000_000);

    await desk.query("Pay", { maxTokens: 100 });

    // At the rate of the second model: 100 tokens of output, and those of the prompt.
    expect(held).toEqual([[1, expect.any(Number)]]);
    expect(held[0]?.[1]).toBeGreaterThan(1_000);
  });

  test("a model that the credits do not reach for is not asked", async () => {
    const dear = models();
    await using desk = await startDesk(dear, { tier: "starter" });
    await desk.store.accounts.grant("org_1", 1_500);

    expect(await desk.query("Pay", { maxTokens: 100 })).toMatchObject({ code: "insufficient_credits" });
    expect(dear.asked()).toEqual({ anthropic: 2, openai: 0 });
    expect(await desk.store.accounts.balance("org_1")).toBe(1_500 - 15);
  });

  test("attempts and tokens count for the provider that was asked", async () => {
    const counted: string[] = [];
    await using desk = await startDesk(models(), {
      metrics: {
        ...silentMetrics,
        modelTurn: (provider, outcome) => counted.push(`${provider} ${outcome}`),
        tokensUsed: (provider, { input }) => counted.push(`${provider} ${input}`),
      },
    });

    await desk.query("Pay");

    expect(counted).toEqual([
      "anthropic succeeded",
      "anthropic 10",
      "anthropic quota",
      "openai succeeded",
      "openai 10",
    ]);
  });
});

test("a run that another owner resumes stays with the model that answered last", async () => {
  const store = await openStore("sqlite::memory:");
  const asked = Promise.withResolvers<void>();
  const never = new Promise<never>(() => {});
  const waiting = severalModels({
    anthropic: [fail("quota")],
    openai: (_, index) => {
      if (index === 0) return { calls: [["pay", {}]] };
      asked.resolve();
      return { until: never };
    },
  });
  let runId: string;
  {
    await using desk = await startDesk(waiting, { store });
    ({ runId } = await desk.runs.start(desk.caller, { query: "Pay", analysisMode: false, maxTokens: 100 }));
    await asked.promise;
  }
  const resumed = severalModels({
    anthropic: [{ text: "Wrong." }],
    openai: [fail("quota")],
    gemini: [{ text: "Done." }],
  });
  await using desk = await startDesk(resumed, { store, owner: "replica-2" });

  const result = await desk.runs.result({ runId, agentId: "agt_1" } as never, { signal: AbortSignal.timeout(10_000) });

  expect(result).toMatchObject({
    response: "Done.",
    warnings: [warning(first, "quota", second), warning(second, "quota", third)],
  });
  expect(resumed.asked()).toEqual({ anthropic: 0, openai: 1, gemini: 1 });
});
