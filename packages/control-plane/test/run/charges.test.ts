import { describe, expect, test } from "vitest";
import type { ChosenModel, ModelCatalog } from "../../src/ports/model-provider.ts";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const MANIFEST = manifestOf({ open: "everyone", staff: ["agent"] });

test("what a turn may cost is held by the step before it, at its start for the first, and what is left goes back", async () => {
  const model = scriptedModel([
    {
      calls: [
        ["open", {}],
        ["open", {}],
      ],
    },
    { text: "Done." },
  ]);
  const runtime = fakeGateway(MANIFEST, () => ok("done"));
  await using core = await startCore({ models: model.catalog, gateway: runtime.gateway, tier: "starter" });
  await core.store.accounts.grant("org_1", 1_000_000);
  const { hold, commit } = core.store.runs;
  const ahead: (number | undefined)[] = [];
  core.store.runs.hold = (...args) => {
    throw new Error(`held by itself: ${args.join(" ")}`);
  };
  core.store.runs.commit = async (lease, change) => {
    ahead.push(change.hold?.step);
    return await commit(lease, change);
  };

  expect(await core.query("Twice, please")).toMatchObject({ success: true, usage: { costUsd: 0.00004 } });

  expect(ahead).toEqual([undefined, undefined, 1, undefined]);
  expect(await core.store.accounts.balance("org_1")).toBe(1_000_000 - 40);
  core.store.runs.hold = hold;
});

test("an organisation without credits is refused, and one with too few for a turn is too", async () => {
  const model = scriptedModel(() => ({ text: "ok" }));
  const runtime = fakeGateway(MANIFEST, () => ok(1));
  await using core = await startCore({ models: model.catalog, gateway: runtime.gateway, tier: "starter" });

  expect(await core.query("Hi")).toMatchObject({ errorMessage: "Insufficient credits" });
  await core.store.accounts.grant("org_1", 100);
  expect(await core.query("Hi")).toMatchObject({ errorMessage: "Insufficient credits" });
  expect(await core.store.accounts.balance("org_1")).toBe(100);

  await core.store.accounts.grant("org_1", 1_000_000);
  expect(await core.query("Hi")).toMatchObject({ success: true });
  expect(await core.store.accounts.balance("org_1")).toBe(1_000_100 - 20);
  expect(model.requests).toHaveLength(1);
});

describe("a model without a known price", () => {
  const { catalog } = scriptedModel(() => ({ text: "ok" }));
  const models: ModelCatalog = {
    choose: ({ model = "default-1" } = {}) => ({ ...(catalog.choose() as ChosenModel), model, cost: () => undefined }),
  };
  const { gateway } = fakeGateway(MANIFEST, () => ok(1));

  test("is refused with 400 where a query of a paying organisation names it", async () => {
    await using core = await startCore({ models, gateway, tier: "starter" });
    await core.store.accounts.grant("org_1", 1_000);

    await expect(core.query("Hi", { llm: { provider: "gemini", model: "gemini-next" } })).rejects.toMatchObject({
      code: "model_not_allowed",
      message: expect.stringContaining("No price is known for model gemini-next") as string,
      details: [{ path: "llmConfig.model" }],
    });
    expect(await core.store.runs.list("agt_1", { limit: 9 })).toEqual([]);
  });

  test("ends the run inside the response where it is the default of a paying organisation", async () => {
    await using core = await startCore({ models, gateway, tier: "starter" });
    await core.store.accounts.grant("org_1", 1_000);

    expect(await core.query("Hi")).toMatchObject({
      success: false,
      code: "model_not_allowed",
      errorMessage: expect.stringContaining("model default-1") as string,
    });
    expect(await core.store.accounts.balance("org_1")).toBe(1_000);
  });

  test("answers in an organisation that does not pay, and says that its cost counts as 0", async () => {
    await using core = await startCore({ models, gateway });

    expect(await core.query("Hi")).toMatchObject({
      success: true,
      usage: { costUsd: 0 },
      warnings: ["No price is known for model default-1: its cost counts as 0"],
    });
  });
});

test("text without Latin letters reserves a token for each character", async () => {
  const model = scriptedModel(() => ({ text: "ok" }));
  const { gateway } = fakeGateway(MANIFEST, () => ok(1));
  await using core = await startCore({ models: model.catalog, gateway, tier: "starter" });
  const { start } = core.store.runs;
  const reserved: (number | undefined)[] = [];
  core.store.runs.start = async (run) => {
    reserved.push(run.holdMicros);
    return await start(run);
  };
  await core.store.accounts.grant("org_1", 1_000_000);

  await core.query("x".repeat(3_000));
  await core.query("\u6f22".repeat(3_000));

  // The scripted model costs one micro-USD for a token of input.
  expect(reserved[1]! - reserved[0]!).toBe(2_000);
});

test("what is held for a turn rises by what the turn before took beyond its estimate, and falls again with it", async () => {
  const inputs = [30_000, 10_000, 10_000];
  const model = scriptedModel((_, index) => ({
    ...(index < 2 ? { calls: [["open", {}]] } : { text: "Done." }),
    usage: { input: inputs[index]!, cachedInput: 0, output: 10 },
  }));
  const { gateway } = fakeGateway(MANIFEST, () => ok("done"));
  await using core = await startCore({ models: model.catalog, gateway, tier: "starter" });
  await core.store.accounts.grant("org_1", 1_000_000);
  const held: number[] = [];
  const { start, commit } = core.store.runs;
  core.store.runs.start = async (run) => {
    held.push(run.holdMicros ?? 0);
    return await start(run);
  };
  core.store.runs.commit = async (lease, change) => {
    if (change.hold) held.push(change.hold.micros);
    return await commit(lease, change);
  };

  // Digits have about two bytes for each token.
  await core.query("7".repeat(60_000), { maxTokens: 100 });

  const [first = 0, second = 0, third = 0] = held;
  expect(first).toBeLessThan(30_000);
  expect(second).toBeGreaterThan(30_000);
  // Never less than a third of the bytes.
  expect(third).toBeGreaterThan(20_000);
  expect(third).toBeLessThan(first + 500);
});
