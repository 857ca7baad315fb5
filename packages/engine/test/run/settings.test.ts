import type { AgentSettings, LlmConfig } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import type { ChosenModel, ModelCatalog } from "../../src/ports/model-provider.ts";
import type { Query } from "../../src/run/api.ts";
import { type CoreOptions, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel, type ScriptedTurn } from "./scripted-model.ts";

const DEFAULTS: Record<string, string> = { anthropic: "claude-1", openai: "gpt-1" };
const SCHEMA = { type: "object", properties: { total: { type: "number" } } };

/** Two configured providers of three. Only models with `free` in their name have no price. */
function catalog({ turns = [], byDefault = "anthropic" }: { turns?: ScriptedTurn[]; byDefault?: string } = {}): {
  requests: ReturnType<typeof scriptedModel>["requests"];
} & ModelCatalog {
  const scripted = scriptedModel(turns.length > 0 ? turns : () => ({ text: "ok" }));
  const { provider: played } = scripted.catalog.choose() as ChosenModel;
  return {
    requests: scripted.requests,
    choose({ provider: name = byDefault, model = DEFAULTS[name] } = {}) {
      if (model === undefined || !(name in DEFAULTS)) return { missing: name };
      const provider = { name, stream: played.stream };
      return { provider, model, cost: () => (model.includes("free") ? undefined : 1) };
    },
  };
}

/** The core with an agent that has these settings. */
async function start(settings: AgentSettings, { models = catalog(), ...options }: Partial<CoreOptions> = {}) {
  const { gateway } = fakeGateway(manifestOf({ look: "everyone" }), () => ok(1));
  const core = await startCore({ models, gateway, ...options });
  if (options.tier) await core.store.accounts.grant("org_1", 1_000_000);
  await core.store.accounts.updateAgent("agt_1", { settings });
  return {
    ...core,
    /** The request of the run of such a query. */
    async asked(query: Partial<Query> = {}) {
      const run = await core.runs.start(core.caller, { query: "Hi", analysisMode: false, ...query });
      await core.result(run);
      return (await core.store.runs.get("agt_1", run.runId))!.request;
    },
  };
}

const ALL: AgentSettings = {
  provider: "openai",
  model: "gpt-9",
  temperature: 0.3,
  maxTokens: 77,
  steps: 4,
  fallback: [{ provider: "anthropic" }],
  historyTokens: 9_000,
  responseSchema: SCHEMA,
  maxCostUsd: 0.25,
};

describe("a run", () => {
  test("has the defaults when its agent has no settings", async () => {
    await using core = await start({});

    const request = await core.asked();

    expect(request).toMatchObject({ provider: "anthropic", model: "claude-1", maxTokens: 8192, warnings: [] });
    for (const member of ["temperature", "steps", "fallback", "historyTokens", "responseSchema", "maxCostMicros"])
      expect(request).not.toHaveProperty(member);
    expect(await core.asked({ defaultMaxTokens: 8000 })).toMatchObject({ maxTokens: 8000 });
  });

  test("has the settings of its agent", async () => {
    const models = catalog();
    await using core = await start(ALL, { models });

    expect(await core.asked({ defaultMaxTokens: 8000 })).toMatchObject({
      provider: "openai",
      model: "gpt-9",
      temperature: 0.3,
      maxTokens: 77,
      steps: 4,
      fallback: [{ provider: "anthropic", model: "claude-1" }],
      historyTokens: 9_000,
      responseSchema: SCHEMA,
      maxCostMicros: 250_000,
    });
    expect(models.requests[0]).toMatchObject({ model: "gpt-9", temperature: 0.3, maxTokens: 77 });
  });

  test("has the values of its query instead", async () => {
    await using core = await start(ALL);
    const llm: LlmConfig = { provider: "openai", model: "gpt-2", temperature: 0, maxTokens: 5, fallback: false };
    const responseSchema = { type: "object" };

    const request = await core.asked({ llm, maxTokens: 5, responseSchema });

    expect(request).toMatchObject({ model: "gpt-2", temperature: 0, maxTokens: 5, responseSchema, steps: 4 });
    expect(request).not.toHaveProperty("fallback");
    expect(await core.asked({ llm: { provider: "openai", fallback: true } })).toMatchObject({
      fallback: [{ provider: "anthropic" }],
    });
  });

  test("has the agent's model only with the agent's provider", async () => {
    await using core = await start({ provider: "openai", model: "gpt-9", temperature: 0.3 });

    expect(await core.asked({ llm: { provider: "openai" } })).toMatchObject({ model: "gpt-9", temperature: 0.3 });
    expect(await core.asked({ llm: { provider: "anthropic" } })).toMatchObject({
      provider: "anthropic",
      model: "claude-1",
      temperature: 0.3,
    });
  });

  test.each([["anthropic"], ["openai"]] as const)(
    "has the agent's model with the default provider %s when the agent names no provider",
    async (provider) => {
      await using core = await start({ model: "model-9" }, { models: catalog({ byDefault: provider }) });
      const other = provider === "openai" ? "anthropic" : "openai";

      for (const llm of [undefined, { provider, maxTokens: 20 }, { provider, temperature: 0.1 }])
        expect(await core.asked({ ...(llm && { llm }) })).toMatchObject({ provider, model: "model-9" });
      expect(await core.asked({ llm: { provider: other } })).toMatchObject({ provider: other, model: DEFAULTS[other] });
    },
  );

  test("keeps the settings that it began with", async () => {
    await using core = await start({ temperature: 0.3 });
    const run = await core.runs.start(core.caller, { query: "Hi", analysisMode: false });

    await core.store.accounts.updateAgent("agt_1", { settings: { temperature: 1 } });
    await core.result(run);

    expect((await core.store.runs.get("agt_1", run.runId))!.request.temperature).toBe(0.3);
    expect(await core.asked()).toMatchObject({ temperature: 1 });
  });

  test("ends with step_limit after the steps of its agent", async () => {
    const turn: ScriptedTurn = { calls: [["look", {}]] };
    const models = catalog({ turns: [turn, turn, turn, turn] });
    await using core = await start({ steps: 2 }, { models });

    expect(await core.query("Look")).toMatchObject({
      code: "step_limit",
      errorMessage: "The model still called functions after 2 steps",
    });
    expect(models.requests.map(({ toolChoice }) => toolChoice)).toEqual(["auto", "auto", "none"]);
  });

  test("of a test call has no settings", async () => {
    await using core = await start({ ...ALL, locked: ["maxTokens"] });

    const request = await core.asked({ testCall: { functionName: "look", arguments: {} } });

    expect(request).toMatchObject({ provider: "test_call", maxTokens: 8192, warnings: [] });
    expect(request).not.toHaveProperty("responseSchema");
    expect(request).not.toHaveProperty("fallback");
  });
});

describe("fallback models", () => {
  test("of providers that are not configured are left out with a warning", async () => {
    await using core = await start({ fallback: [{ provider: "gemini" }, { provider: "openai", model: "gpt-3" }] });

    expect(await core.asked()).toMatchObject({
      fallback: [{ provider: "openai", model: "gpt-3" }],
      warnings: ["Fallback provider gemini is not configured and was left out"],
    });
  });

  test("that are the chosen model, or in the list already, are left out", async () => {
    const fallback = [{ provider: "openai" as const }, { provider: "anthropic" as const, model: "claude-1" }];
    await using core = await start({ fallback: [...fallback, { provider: "openai", model: "gpt-1" }] });

    expect((await core.asked()).fallback).toEqual([{ provider: "openai", model: "gpt-1" }]);
    expect((await core.asked({ llm: { provider: "openai" } })).fallback).toEqual([
      { provider: "anthropic", model: "claude-1" },
    ]);
  });

  test("without a price are left out with a warning when the organisation is charged or the run has a cost cap", async () => {
    const settings: AgentSettings = { fallback: [{ provider: "openai", model: "gpt-free" }, { provider: "openai" }] };
    await using paying = await start(settings, { tier: "starter" });
    await using capped = await start({ ...settings, maxCostUsd: 1 });
    await using sandbox = await start(settings);

    for (const core of [paying, capped])
      expect(await core.asked()).toMatchObject({
        fallback: [{ provider: "openai", model: "gpt-1" }],
        warnings: ["Fallback model gpt-free has no known price and was left out"],
      });
    expect((await sandbox.asked()).fallback).toHaveLength(2);
  });
});

test("a run of a charged organisation fails when the agent's model has no price", async () => {
  await using core = await start({ model: "claude-free" }, { tier: "starter" });

  expect(await core.query("Hi")).toMatchObject({
    success: false,
    code: "model_not_allowed",
    errorMessage: expect.stringContaining("model claude-free") as string,
  });
  await expect(core.query("Hi", { llm: { provider: "anthropic", model: "claude-free" } })).rejects.toMatchObject({
    code: "model_not_allowed",
    details: [{ path: "llmConfig.model" }],
  });
});

test("a run fails when the agent's provider is not configured", async () => {
  await using core = await start({ provider: "gemini", model: "gemini-1", locked: ["model"] });
  const failure = { code: "provider_not_configured", errorMessage: "Provider gemini is not configured" };

  expect(await core.query("Hi")).toMatchObject(failure);
  expect(await core.query("Hi", { llm: { provider: "gemini", model: "gemini-1" } })).toMatchObject(failure);
  await expect(core.query("Hi", { llm: { provider: "gemini", model: "gemini-2" } })).rejects.toThrow("llmConfig.model");
});

describe("a locked setting", () => {
  const LOCKED: AgentSettings = { ...ALL, locked: ["model", "temperature", "maxTokens", "fallback", "responseSchema"] };
  const openai = { provider: "openai" } as const;

  test.each<[path: string, code: string, query: Partial<Query>]>([
    ["llmConfig.provider", "model_not_allowed", { llm: { provider: "anthropic" } }],
    ["llmConfig.model", "model_not_allowed", { llm: { ...openai, model: "gpt-1" } }],
    ["llmConfig.temperature", "invalid_request", { llm: { ...openai, temperature: 0.4 } }],
    ["temperature", "invalid_request", { temperature: 0.4 }],
    ["llmConfig.maxTokens", "invalid_request", { llm: { ...openai, maxTokens: 78 }, maxTokens: 78 }],
    ["max_tokens", "invalid_request", { llm: { ...openai, maxTokens: 77 }, maxTokens: 78 }],
    ["llmConfig.fallback", "invalid_request", { llm: { ...openai, fallback: false } }],
    ["responseSchema", "invalid_request", { responseSchema: { type: "object" } }],
  ])("rejects another %s with %s, and no run begins", async (path, code, query) => {
    await using core = await start(LOCKED);

    const refused = core.runs.start(core.caller, { query: "Hi", analysisMode: false, ...query });

    await expect(refused).rejects.toMatchObject({
      code,
      message: `Invalid request: ${path}: cannot be changed by queries of this agent`,
      details: [{ path, message: "cannot be changed by queries of this agent" }],
    });
    expect(await core.store.runs.list("agt_1", { limit: 9 })).toEqual([]);
  });

  test("rejects several properties in one error", async () => {
    await using core = await start(LOCKED);
    const llm: LlmConfig = { provider: "anthropic", temperature: 1 };

    await expect(core.runs.start(core.caller, { query: "Hi", analysisMode: false, llm })).rejects.toMatchObject({
      code: "invalid_request",
      details: [{ path: "llmConfig.provider" }, { path: "llmConfig.temperature" }],
    });
  });

  test("accepts a query that repeats the agent's values", async () => {
    await using core = await start(LOCKED);
    const llm: LlmConfig = { ...openai, model: "gpt-9", temperature: 0.3, maxTokens: 77, fallback: true };

    expect(await core.asked({ llm, maxTokens: 77, responseSchema: { ...SCHEMA } })).toMatchObject({ model: "gpt-9" });
  });

  test("of a model without a provider rejects other models of each provider", async () => {
    await using core = await start({ model: "claude-9", locked: ["model"] });
    const anthropic = { provider: "anthropic" } as const;

    for (const llm of [anthropic, { ...anthropic, maxTokens: 20 }, { ...anthropic, model: "claude-9" }])
      expect(await core.asked({ llm })).toMatchObject({ provider: "anthropic", model: "claude-9" });
    for (const [llm, path] of [
      [{ ...anthropic, model: "claude-1" }, "llmConfig.model"],
      [openai, "llmConfig.provider"],
      [{ ...openai, model: "claude-9" }, "llmConfig.provider"],
    ] as const)
      await expect(core.asked({ llm })).rejects.toMatchObject({ code: "model_not_allowed", details: [{ path }] });
  });

  test("that the agent does not set rejects other values than the default", async () => {
    await using core = await start({ locked: ["model", "temperature", "maxTokens"] });

    expect(
      await core.asked({ llm: { provider: "anthropic", model: "claude-1", maxTokens: 8192 }, maxTokens: 8192 }),
    ).toMatchObject({ model: "claude-1", maxTokens: 8192 });
    for (const llm of [
      { provider: "openai" },
      { provider: "anthropic", model: "claude-2" },
      { provider: "anthropic", temperature: 1 },
    ] as const)
      await expect(core.asked({ llm })).rejects.toThrow("cannot be changed by queries of this agent");
  });

  test("leaves the other settings to queries", async () => {
    await using core = await start({ ...ALL, locked: ["temperature"] });

    expect(await core.asked({ llm: { provider: "anthropic", maxTokens: 5 }, maxTokens: 5 })).toMatchObject({
      provider: "anthropic",
      maxTokens: 5,
      temperature: 0.3,
    });
  });
});
