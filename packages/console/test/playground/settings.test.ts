import { LIMITS, QueryRequest } from "@patchbay/protocol";
import type { RunTrace } from "@patchbay/protocol/console";
import { describe, expect, test } from "vitest";
import { playground } from "../../src/page-search.ts";
import * as settings from "../../src/pages/playground/settings.ts";
import { parseSearch, stringifySearch } from "../../src/search.ts";

const { bodyOf, faultsOf, searchOfSettings, settingsOf, settingsOfRun } = settings;
const plain = settingsOf({});
const asked = { query: "How many?", role: "support", threadId: "thr_1" };

test("the page's limits are the protocol's", () => {
  expect(settings).toMatchObject({
    LABEL_UNITS: LIMITS.labelUnits,
    QUERY_UNITS: LIMITS.queryUnits,
    CONTEXT_BYTES: LIMITS.contextBytes,
    MAX_TOKENS: LIMITS.maxTokens,
  });
});

test("settings come back from the URL as they were", () => {
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
    context: '{"a": "b&c"}',
  };

  expect(settingsOf(playground(parseSearch(stringifySearch(searchOfSettings(full)))))).toEqual(full);
});

test("comparing with no role survives the URL too", () => {
  expect(settingsOf(playground(parseSearch(stringifySearch(searchOfSettings({ ...plain, compare: true })))))).toEqual({
    ...plain,
    compare: true,
  });
});

test("a long context stays out of the URL", () => {
  expect(searchOfSettings({ ...plain, context: `{"a": "${"x".repeat(5_000)}"}` })).toEqual(searchOfSettings(plain));
});

describe("the body of a query", () => {
  test("holds what is set and nothing else", () => {
    expect(bodyOf(plain, { query: "Hi", role: "", threadId: undefined })).toEqual({ query: "Hi" });
  });

  test("is one that the service takes", () => {
    const body = bodyOf(
      {
        ...plain,
        session: "s",
        analysis: true,
        provider: "gemini",
        maxTokens: "10",
        temperature: "0",
        context: '{"a": 1}',
      },
      asked,
    );

    expect(QueryRequest.parse(body)).toMatchObject({
      ...asked,
      sessionId: "s",
      analysisMode: true,
      contextJson: { a: 1 },
      llmConfig: { provider: "gemini", maxTokens: 10, temperature: 0 },
    });
  });

  test("leaves out a model's settings without its provider", () => {
    expect(bodyOf({ ...plain, model: "m", maxTokens: "1" }, asked)).not.toHaveProperty("llmConfig");
  });
});

describe("what would be refused is said beforehand", () => {
  const faulty = (changed: Partial<settings.Settings>) => Object.keys(faultsOf({ ...plain, ...changed }));

  test.each([
    ["context that is no JSON", { context: "{" }, ["context"]],
    ["context that is a list", { context: "[]" }, ["context"]],
    ["a number of tokens that is none", { provider: "openai", maxTokens: "1.5" }, ["maxTokens"]],
    ["a temperature above two", { provider: "openai", temperature: "2.1" }, ["temperature"]],
    ["a role that is too long", { role: "r".repeat(201) }, ["role"]],
  ] as const)("%s", (_, changed, names) => {
    expect(faulty(changed)).toEqual(names);
  });

  test("what is not used is not wrong", () => {
    expect(faulty({ maxTokens: "x", temperature: "y", role2: "r".repeat(201), context: " " })).toEqual([]);
  });
});

describe("a run that is asked again", () => {
  const query = { kind: "query", attributes: { maxTokens: 900, temperature: 0 } };
  const run = {
    fullQuery: "Which are late?",
    role: "support",
    sessionId: "visit 1",
    analysisMode: true,
    provider: "gemini",
    model: "m",
    context: { customerId: "c_1" },
    spans: [query],
  } as unknown as RunTrace;
  const again = (changed: object = {}) =>
    bodyOf(settingsOfRun({ ...run, ...changed }), { query: run.fullQuery, role: "support", threadId: undefined });

  test("is asked with all that it was asked with, and the service takes it", () => {
    expect(again()).toEqual({
      query: "Which are late?",
      role: "support",
      sessionId: "visit 1",
      analysisMode: true,
      contextJson: '{"customerId":"c_1"}',
      llmConfig: { provider: "gemini", model: "m", maxTokens: 900, temperature: 0 },
    });
    expect(QueryRequest.safeParse(again()).success).toBe(true);
  });

  test("names no model that a caller cannot name", () => {
    expect(again({ provider: "offline", model: "offline" })).not.toHaveProperty("llmConfig");
  });

  test("is asked plainly where it was", () => {
    const plainly = { role: null, sessionId: null, analysisMode: false, provider: "offline", context: {} };
    expect(settingsOfRun({ ...run, ...plainly })).toEqual(plain);
  });
});
