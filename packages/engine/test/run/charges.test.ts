import { describe, expect, test } from "vitest";
import type { ChosenModel, ModelCatalog } from "../../src/ports/model-provider.ts";
import { startCore, startScripted } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const MANIFEST = manifestOf({ open: "everyone", staff: ["agent"] });

test("the cost of a turn is reserved with the step before it, for the first turn with the run, and the rest is returned", async () => {
  await using core = await startScripted(
    [
      {
        calls: [
          ["open", {}],
          ["open", {}],
        ],
      },
      { text: "Done." },
    ],
    { tier: "starter" },
  );
  await core.store.accounts.grant("org_1", 1_000_000);
  const { reserve, commit } = core.store.runs;
  const ahead: (number | undefined)[] = [];
  core.store.runs.reserve = (...args) => {
    throw new Error(`reserved separately: ${args.join(" ")}`);
  };
  core.store.runs.commit = async (lease, change) => {
    ahead.push(change.reserve?.step);
    return await commit(lease, change);
  };

  expect(await core.query("Twice, please")).toMatchObject({ success: true, usage: { costUsd: 0.00004 } });

  expect(ahead).toEqual([undefined, undefined, 1, undefined]);
  expect(await core.store.accounts.balance("org_1")).toBe(1_000_000 - 40);
  core.store.runs.reserve = reserve;
});

test("a query fails when its organisation has no credit, or too little for a turn", async () => {
  await using core = await startScripted(() => ({ text: "ok" }), { tier: "starter" });

  expect(await core.query("Hi")).toMatchObject({ errorMessage: "Insufficient credits" });
  await core.store.accounts.grant("org_1", 100);
  expect(await core.query("Hi")).toMatchObject({ errorMessage: "Insufficient credits" });
  expect(await core.store.accounts.balance("org_1")).toBe(100);

  await core.store.accounts.grant("org_1", 1_000_000);
  expect(await core.query("Hi")).toMatchObject({ success: true });
  expect(await core.store.accounts.balance("org_1")).toBe(1_000_100 - 20);
  expect(core.model.requests).toHaveLength(1);
});

describe("a model without a known price", () => {
  const { catalog } = scriptedModel(() => ({ text: "ok" }));
  const models: ModelCatalog = {
    choose: ({ model = "default-1" } = {}) => ({ ...(catalog.choose() as ChosenModel), model, cost: () => undefined }),
  };
  const { gateway } = fakeGateway(MANIFEST, () => ok(1));

  test("is rejected with 400 when a query of a charged organisation names it", async () => {
    await using core = await startCore({ models, gateway, tier: "starter" });
    await core.store.accounts.grant("org_1", 1_000);

    await expect(core.query("Hi", { llm: { provider: "gemini", model: "gemini-next" } })).rejects.toMatchObject({
      code: "model_not_allowed",
      message: expect.stringContaining("No price is known for model gemini-next") as string,
      details: [{ path: "llmConfig.model" }],
    });
    expect(await core.store.runs.list("agt_1", { limit: 9 })).toEqual([]);
  });

  test("fails the run when it is the default of a charged organisation", async () => {
    await using core = await startCore({ models, gateway, tier: "starter" });
    await core.store.accounts.grant("org_1", 1_000);

    expect(await core.query("Hi")).toMatchObject({
      success: false,
      code: "model_not_allowed",
      errorMessage: expect.stringContaining("model default-1") as string,
    });
    expect(await core.store.accounts.balance("org_1")).toBe(1_000);
  });

  test("answers for an organisation that is not charged, with a warning that its cost counts as 0", async () => {
    await using core = await startCore({ models, gateway });

    expect(await core.query("Hi")).toMatchObject({
      success: true,
      usage: { costUsd: 0 },
      warnings: ["No price is known for model default-1: its cost counts as 0"],
    });
  });
});

test("a text without Latin letters reserves a token for each character", async () => {
  await using core = await startScripted(() => ({ text: "ok" }), { tier: "starter" });
  const { start } = core.store.runs;
  const reserved: (number | undefined)[] = [];
  core.store.runs.start = async (run) => {
    reserved.push(run.reserveMicros);
    return await start(run);
  };
  await core.store.accounts.grant("org_1", 1_000_000);

  await core.query("x".repeat(3_000));
  await core.query("\u6f22".repeat(3_000));

  // The scripted model costs one micro-USD for a token of input.
  expect(reserved[1]! - reserved[0]!).toBe(2_000);
});

test("the reservation of a turn follows the ratio by which the turn before exceeded its estimate", async () => {
  const inputs = [30_000, 10_000, 10_000];
  await using core = await startScripted(
    (_, index) => ({
      ...(index < 2 ? { calls: [["open", {}]] } : { text: "Done." }),
      usage: { input: inputs[index]!, cachedInput: 0, output: 10 },
    }),
    { tier: "starter" },
  );
  await core.store.accounts.grant("org_1", 1_000_000);
  const held: number[] = [];
  const { start, commit } = core.store.runs;
  core.store.runs.start = async (run) => {
    held.push(run.reserveMicros ?? 0);
    return await start(run);
  };
  core.store.runs.commit = async (lease, change) => {
    if (change.reserve) held.push(change.reserve.micros);
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
