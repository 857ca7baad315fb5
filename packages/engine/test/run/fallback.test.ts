import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/ports/clock.ts";
import { silentMetrics } from "../../src/ports/metrics.ts";
import { ModelError, type ModelErrorKind } from "../../src/ports/model-provider.ts";
import type { RunHandle } from "../../src/run/api.ts";
import type { Store } from "../../src/ports/store/stores.ts";
import { openStore } from "@patchbay/store/open";
import { systemClock } from "../../../control-plane/src/start/clocks.ts";
import { type CoreOptions, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { severalModels } from "./scripted-model.ts";

const MANIFEST = manifestOf({ pay: "everyone" });
/** Makes the pauses between attempts short. */
const clock: Clock = { ...systemClock, sleep: (ms, options) => systemClock.sleep(ms / 50, options) };
const fail = (kind: ModelErrorKind, message = "") => ({ fail: new ModelError(kind, message) });
const first = { provider: "anthropic", model: "first-1" };
const second = { provider: "openai", model: "second-1" };
const third = { provider: "gemini", model: "third-1" };

/** Starts the run layer with fallback models for every run. */
async function start(
  models: ReturnType<typeof severalModels>,
  { fallback = [second, third], ...options }: Partial<CoreOptions> & { fallback?: (typeof first)[] } = {},
) {
  const runtime = fakeGateway(MANIFEST, () => ok("paid"));
  const core = await startCore({ models: models.catalog, gateway: runtime.gateway, clock, ...options });
  withFallback(core.store, fallback);
  return { ...core, runtime };
}

function withFallback({ runs }: Store, fallback: (typeof first)[]): void {
  const { start } = runs;
  runs.start = (run) => start({ ...run, request: { ...run.request, fallback } });
}

const name = ({ provider, model }: typeof first): string => `${provider}/${model}`;
const warning = (failed: typeof first, kind: ModelErrorKind, answered: typeof first): string =>
  `Model ${name(failed)} failed (${kind}): ${name(answered)} answered instead`;

describe("a model that fails", () => {
  type Decision = { asked: number; falls: boolean };
  const passing = <Kind extends ModelErrorKind>(...kinds: Kind[]) =>
    Object.fromEntries(kinds.map((kind) => [kind, { asked: 3, falls: true }])) as Record<Kind, Decision>;
  const DECISIONS: Record<ModelErrorKind, Decision> = {
    ...passing("rate_limited", "overloaded", "network", "out_of_files", "truncated", "unknown_end", "server"),
    quota: { asked: 1, falls: true },
    authentication: { asked: 1, falls: true },
    unknown_model: { asked: 1, falls: true },
    unreadable: { asked: 1, falls: true },
    too_many_functions: { asked: 1, falls: true },
    internal: { asked: 1, falls: true },
    bad_request: { asked: 1, falls: false },
    context_window: { asked: 1, falls: false },
    malformed: { asked: 1, falls: false },
  };

  test.each(Object.entries(DECISIONS))("with %s after its attempts: %o", async (kind, { asked, falls }) => {
    const failing = fail(kind as ModelErrorKind);
    const models = severalModels({ anthropic: () => failing, openai: [{ text: "Done." }], gemini: [] });
    await using core = await start(models);

    const answer = await core.query("Pay");

    expect(models.asked()).toEqual({ anthropic: asked, openai: falls ? 1 : 0, gemini: 0 });
    const warnings = [warning(first, kind as ModelErrorKind, second)];
    if (falls) expect(answer).toMatchObject({ success: true, response: "Done.", warnings });
    else expect(answer).toMatchObject({ success: false, code: "provider_error" });
  });

  test.each(["Corrupted thought signature.", "The encrypted content could not be verified."])(
    "for its opaque blocks is replaced by one that does not get them: %s",
    async (message) => {
      const models = severalModels({ anthropic: [fail("bad_request", message)], openai: [{ text: "Done." }] });
      await using core = await start(models);

      expect(await core.query("Pay")).toMatchObject({ success: true, response: "Done." });
    },
  );

  test("by asking for a longer wait than the run can afford is replaced immediately", async () => {
    const busy = new ModelError("rate_limited", "slow down", { retryAfterMs: 31_000 });
    const models = severalModels({ anthropic: [{ fail: busy }], openai: [{ text: "Done." }] });
    await using core = await start(models, { runTimeoutMs: 240_000 });

    expect(await core.query("Pay")).toMatchObject({ success: true, response: "Done." });
    expect(models.asked()).toEqual({ anthropic: 1, openai: 1 });
  });

  test("is followed by the models of the list in order, and the warnings name each", async () => {
    const models = severalModels({
      anthropic: () => fail("overloaded"),
      openai: [fail("authentication")],
      gemini: [{ text: "Done." }],
    });
    await using core = await start(models);

    expect(await core.query("Pay")).toMatchObject({
      response: "Done.",
      warnings: [warning(first, "overloaded", third), warning(second, "authentication", third)],
    });
  });

  test("is skipped when its provider is no longer configured", async () => {
    const models = severalModels({ anthropic: [fail("quota")], gemini: [{ text: "Done." }] });
    await using core = await start(models);

    expect(await core.query("Pay")).toMatchObject({ warnings: [warning(first, "quota", third)] });
  });

  test("ends the run when all others fail too, with the reason of each", async () => {
    const models = severalModels({ anthropic: [fail("quota")], openai: [fail("authentication")] });
    await using core = await start(models, { fallback: [second] });

    expect(await core.query("Pay")).toMatchObject({
      code: "provider_error",
      errorMessage:
        "Model anthropic/first-1 failed: the account's quota or spending limit is used up. " +
        "Model openai/second-1 failed: it refused the configured API key",
    });
  });
});

test("a refusal ends the run although models are left", async () => {
  const models = severalModels({ anthropic: [{ text: "No.", stop: "refused" }], openai: [{ text: "Done." }] });
  await using core = await start(models);

  expect(await core.query("Pay")).toMatchObject({ code: "model_refused" });
  expect(models.asked()).toEqual({ anthropic: 1, openai: 0 });
});

test("the next model continues after a function call, and answers the rest of the run", async () => {
  const models = severalModels({
    anthropic: [{ calls: [["pay", {}]] }, fail("quota"), { text: "Back again." }],
    openai: [{ calls: [["pay", { more: 1 }]] }, { text: "Done." }],
  });
  await using core = await start(models);

  const answer = await core.query("Pay");

  expect(answer).toMatchObject({ response: "Done.", warnings: [warning(first, "quota", second)] });
  expect(core.runtime.orders.map((order) => order.arguments)).toEqual([{}, { more: 1 }]);
  expect(models.asked()).toEqual({ anthropic: 2, openai: 2 });
  expect(models.requests("openai").map(({ model }) => model)).toEqual([second.model, second.model]);
  const { turns } = await core.store.runs.checkpoint(answer.runId);
  expect(turns).toMatchObject([first, second, second]);
});

test("the next model gets the conversation that was too long for the one before", async () => {
  const models = severalModels({
    anthropic: [{ text: "Before." }, fail("context_window"), fail("quota")],
    openai: [{ text: "Done." }],
  });
  await using core = await start(models);
  const { threadId } = await core.query("Hello");

  expect(await core.query("Pay", { threadId })).toMatchObject({ response: "Done." });

  const [, whole, shorter] = models.requests("anthropic").map(({ messages }) => messages.length);
  expect([whole, shorter]).toEqual([3, 1]);
  expect(models.requests("openai").map(({ messages }) => messages.length)).toEqual([3]);
});

test("the deltas of a model that failed are withdrawn", async () => {
  const half = Promise.withResolvers<void>();
  const models = severalModels({
    anthropic: () => ({ text: "Half ", ...fail("truncated") }),
    openai: [{ text: "Done.", until: half.promise }],
  });
  await using core = await start(models);
  const run = await core.start("Pay");
  const shown: string[] = [];
  for await (const { body } of core.follow(run)) {
    const event = JSON.parse(body) as { type: string; content?: string };
    shown.push(event.type === "responseDelta" ? `${event.content}` : event.type);
    if (shown.filter((one) => one === "deltaReset").length === 3) half.resolve();
  }

  expect(shown.slice(-3)).toEqual(["deltaReset", "Done.", "finalResponse"]);
});

describe("the cost of a run", () => {
  const models = () =>
    severalModels(
      { anthropic: [{ calls: [["pay", {}]] }, fail("quota")], openai: [{ text: "Done." }] },
      { anthropic: 1, openai: 10 },
    );

  test("has for each turn the price of the model that answered", async () => {
    await using core = await start(models(), { tier: "starter" });
    await core.store.accounts.grant("org_1", 1_000_000);

    expect(await core.query("Pay", { maxTokens: 100 })).toMatchObject({ usage: { costUsd: 0.000_165 } });
    expect(await core.store.accounts.balance("org_1")).toBe(1_000_000 - 165);
  });

  test("has for a failed attempt the price of its own model", async () => {
    const cut = { counted: { input: 100, cachedInput: 0, output: 10 }, uncountedBytes: 0 };
    const half = { text: "Half", cut, ...fail("malformed") };
    const rates = { anthropic: 1, openai: 10 };
    const models = severalModels({ anthropic: [{ ...half, ...fail("quota") }], openai: [half] }, rates);
    await using core = await start(models, { tier: "starter" });
    await core.store.accounts.grant("org_1", 1_000_000);

    expect(await core.query("Pay")).toMatchObject({ usage: { inputTokens: 200, outputTokens: 20, costUsd: 0.00121 } });
    expect(await core.store.accounts.balance("org_1")).toBe(1_000_000 - 1_210);
  });

  test("is reserved for the model that is asked", async () => {
    const dear = models();
    await using core = await start(dear, { tier: "starter" });
    const held: [number, number | undefined][] = [];
    const { reserve } = core.store.runs;
    core.store.runs.reserve = async (orgId, runId, step, micros) => {
      const now = await reserve(orgId, runId, step, micros);
      held.push([step, now]);
      return now;
    };
    await core.store.accounts.grant("org_1", 1_000_000);

    await core.query("Pay", { maxTokens: 100 });

    // At the rate of the second model: 100 tokens of output, and those of the prompt.
    expect(held).toEqual([[1, expect.any(Number)]]);
    expect(held[0]?.[1]).toBeGreaterThan(1_000);
  });

  test("must be covered by the balance before a model is asked", async () => {
    const dear = models();
    await using core = await start(dear, { tier: "starter" });
    await core.store.accounts.grant("org_1", 1_500);

    expect(await core.query("Pay", { maxTokens: 100 })).toMatchObject({ code: "insufficient_credits" });
    expect(dear.asked()).toEqual({ anthropic: 2, openai: 0 });
    expect(await core.store.accounts.balance("org_1")).toBe(1_500 - 15);
  });

  test("is counted in the metrics of the provider that was asked", async () => {
    const counted: string[] = [];
    await using core = await start(models(), {
      metrics: {
        ...silentMetrics,
        modelTurn: ({ provider, outcome }) => counted.push(`${provider} ${outcome}`),
        turnBilled: ({ provider }, { input }) => counted.push(`${provider} ${input}`),
      },
    });

    await core.query("Pay");

    expect(counted).toEqual([
      "anthropic succeeded",
      "anthropic 10",
      "anthropic quota",
      "openai succeeded",
      "openai 10",
    ]);
  });
});

/** Models of a replica that resumes a run whose second model gave its last turn, and how it answers. */
const RESUMES = {
  "stays with the model that answered last": {
    scripts: { anthropic: [{ text: "Wrong." }], openai: [fail("quota")], gemini: [{ text: "Done." }] },
    answer: { response: "Done.", warnings: [warning(first, "quota", second), warning(second, "quota", third)] },
    asked: { anthropic: 0, openai: 1, gemini: 1 },
  },
  "asks the models before it again when all others fail": {
    scripts: { anthropic: [{ text: "Done." }], openai: () => fail("overloaded"), gemini: [fail("quota")] },
    answer: { response: "Done." },
    asked: { anthropic: 1, openai: 3, gemini: 1 },
  },
};

test.each(Object.entries(RESUMES))("a resumed run %s", async (_, { scripts, answer, asked }) => {
  const store = await openStore("sqlite::memory:");
  const reached = Promise.withResolvers<void>();
  const never = new Promise<never>(() => {});
  const waiting = severalModels({
    anthropic: [fail("quota")],
    openai: (_, index) => {
      if (index === 0) return { calls: [["pay", {}]] };
      reached.resolve();
      return { until: never };
    },
  });
  let run: RunHandle;
  {
    await using core = await start(waiting, { store });
    run = await core.start("Pay");
    await reached.promise;
  }
  const resumed = severalModels(scripts);
  await using core = await start(resumed, { store, owner: "replica-2" });

  expect(await core.result(run)).toMatchObject(answer);
  expect(resumed.asked()).toEqual(asked);
});
