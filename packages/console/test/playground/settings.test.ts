import { LIMITS, QueryRequest } from "@patchbay/protocol";
import { PlaygroundQuery, type RunTrace } from "@patchbay/protocol/console";
import { describe, expect, test } from "vitest";
import { parseSearch, playground, stringifySearch } from "../../src/state/page-search.ts";
import * as settings from "../../src/parts/playground/settings.ts";

const { bodyOf, settingsOfLane, validateSettings, searchOfSettings, settingsOf, settingsOfRun } = settings;
const plain = settingsOf({});
const sent = { query: "How many?", role: "support", threadId: "thr_1" };

test("the page's limits equal those of the protocol", () => {
  expect(settings).toMatchObject({
    LABEL_UNITS: LIMITS.labelUnits,
    QUERY_UNITS: LIMITS.queryUnits,
    CONTEXT_BYTES: LIMITS.contextBytes,
    MAX_TOKENS: LIMITS.maxTokens,
  });
});

test("the URL restores the settings", () => {
  const full: settings.Settings = {
    role: "support",
    role2: "viewer",
    compare: true,
    session: "visit 1",
    analysis: true,
    provider: "openai",
    model: "m",
    maxTokens: "100",
    temperature: "0.5",
    reasoning: "max",
    context: '{"a": "b&c"}',
    instructions: "Be brief.",
    schema: '{"type": "object"}',
    provider2: "gemini",
    model2: "n",
    context2: '{"a": 2}',
    instructions2: "Be long.",
    agentInstructions2: true,
  };

  expect(settingsOf(playground(parseSearch(stringifySearch(searchOfSettings(full)))))).toEqual(full);
});

test("the URL keeps a comparison without roles", () => {
  expect(settingsOf(playground(parseSearch(stringifySearch(searchOfSettings({ ...plain, compare: true })))))).toEqual({
    ...plain,
    compare: true,
  });
});

test("a long context stays out of the URL", () => {
  expect(searchOfSettings({ ...plain, context: `{"a": "${"x".repeat(5_000)}"}` })).toEqual(searchOfSettings(plain));
});

test("the second lane has its own role, context and model, and otherwise those of the first", () => {
  const first = {
    ...plain,
    compare: true,
    role: "agent",
    context: '{"a": 1}',
    provider: "openai",
    model: "m",
  } as const;
  const second = { ...first, role2: "customer", provider2: "gemini", context2: '{"a": 2}' } as const;
  const bodyOfLane = (settings: settings.Settings, lane: number) => {
    const own = settingsOfLane(settings, lane);
    return bodyOf(own, { query: "Hi", role: own.role, threadId: undefined });
  };

  expect(bodyOfLane(second, 0)).toEqual(bodyOfLane(first, 0));
  expect(bodyOfLane(second, 1)).toEqual({
    query: "Hi",
    role: "customer",
    contextJson: '{"a":2}',
    llmConfig: { provider: "gemini" },
  });
  expect(bodyOfLane({ ...first, role2: "customer" }, 1)).toEqual({ ...bodyOfLane(first, 0), role: "customer" });
  expect(bodyOfLane({ ...second, context2: "{}" }, 1)).toMatchObject({ contextJson: "{}" });
  expect(bodyOfLane({ ...second, provider2: "agent" }, 1)).not.toHaveProperty("llmConfig");
  expect(settings.validateSettings({ ...second, context2: "[" })).toHaveProperty("context2");
});

test("each lane has its own instructions, which only members send", () => {
  const both = { ...plain, compare: true, instructions: "Be brief." };
  const sentBy = (settings_: settings.Settings, lane: number) =>
    settings.memberBodyOf(settingsOfLane(settings_, lane), { ...sent, threadId: undefined });

  expect(sentBy(both, 0)).toMatchObject({ instructions: "Be brief." });
  expect(sentBy(both, 1)).toMatchObject({ instructions: "Be brief." });
  expect(sentBy({ ...both, instructions2: "Be long." }, 1)).toMatchObject({ instructions: "Be long." });
  expect(sentBy({ ...both, agentInstructions2: true }, 1)).not.toHaveProperty("instructions");
  expect(sentBy({ ...both, instructions: " " }, 0)).not.toHaveProperty("instructions");
  expect(bodyOf(both, sent)).not.toHaveProperty("instructions");
  expect(validateSettings({ ...both, instructions2: "x".repeat(20_001) })).toHaveProperty("instructions2");
  expect(settings.INSTRUCTIONS_UNITS).toBe(PlaygroundQuery.shape.instructions.unwrap().maxLength);
});

describe("the body of a query", () => {
  test("has only the given settings", () => {
    expect(bodyOf(plain, { query: "Hi", role: "", threadId: undefined })).toEqual({ query: "Hi" });
  });

  test("is valid for the API", () => {
    const body = bodyOf(
      {
        ...plain,
        session: "s",
        analysis: true,
        provider: "gemini",
        maxTokens: "10",
        temperature: "0",
        reasoning: "high",
        context: '{"a": 1}',
      },
      sent,
    );

    expect(QueryRequest.parse(body)).toMatchObject({
      ...sent,
      sessionId: "s",
      analysisMode: true,
      contextJson: { a: 1 },
      llmConfig: { provider: "gemini", maxTokens: 10, temperature: 0, reasoning: "high" },
    });
  });

  test("omits model settings without a provider", () => {
    expect(bodyOf({ ...plain, model: "m", maxTokens: "1", reasoning: "low" }, sent)).not.toHaveProperty("llmConfig");
  });
});

describe("validation reports", () => {
  const invalid = (changed: Partial<settings.Settings>) => Object.keys(validateSettings({ ...plain, ...changed }));

  test.each([
    ["context that is not JSON", { context: "{" }, ["context"]],
    ["context that is a list", { context: "[]" }, ["context"]],
    ["a token limit that is not whole", { provider: "openai", maxTokens: "1.5" }, ["maxTokens"]],
    ["a temperature above two", { provider: "openai", temperature: "2.1" }, ["temperature"]],
    ["a role that is too long", { role: "r".repeat(201) }, ["role"]],
  ] as const)("%s", (_, changed, names) => {
    expect(invalid(changed)).toEqual(names);
  });

  test("no errors for unused settings", () => {
    expect(invalid({ maxTokens: "x", temperature: "y", role2: "r".repeat(201), context: " " })).toEqual([]);
  });
});

describe("a repeated run", () => {
  const query = { kind: "query", attributes: { maxTokens: 900, temperature: 0, reasoning: "low" } };
  const run = {
    fullQuery: "Which are late?",
    role: "support",
    sessionId: "visit 1",
    analysisMode: true,
    provider: "gemini",
    model: "m",
    context: { customerId: "c_1" },
    instructions: null,
    settings: { responseSchema: null },
    spans: [query],
  } as unknown as RunTrace;
  const repeat = (changed: object = {}) =>
    bodyOf(settingsOfRun({ ...run, ...changed }), { query: run.fullQuery, role: "support", threadId: undefined });

  test("sends the original settings in a valid body", () => {
    expect(repeat()).toEqual({
      query: "Which are late?",
      role: "support",
      sessionId: "visit 1",
      analysisMode: true,
      contextJson: '{"customerId":"c_1"}',
      llmConfig: { provider: "gemini", model: "m", maxTokens: 900, temperature: 0, reasoning: "low" },
    });
    expect(QueryRequest.safeParse(repeat()).success).toBe(true);
  });

  test("has the run's own instructions and its answer schema", () => {
    const schema = { type: "object", properties: {} };
    const own = settingsOfRun({
      ...run,
      instructions: "Be brief.",
      settings: { ...run.settings, responseSchema: schema },
    });

    expect(settings.memberBodyOf(own, sent)).toMatchObject({ instructions: "Be brief.", responseSchema: schema });
  });

  test("omits a model that queries cannot select", () => {
    expect(repeat({ provider: "offline", model: "offline" })).not.toHaveProperty("llmConfig");
  });

  test("has default settings if the run had", () => {
    const defaults = { role: null, sessionId: null, analysisMode: false, provider: "offline", context: {} };
    expect(settingsOfRun({ ...run, ...defaults })).toEqual(plain);
  });
});
