import * as fc from "@patchbay/test-support/properties";
import { expect, test } from "vitest";
import { LIMITS, LocalQueryRequest, QueryRequest } from "../src/index.ts";
import { parseJson } from "@patchbay/kit";
import { near, withProperty } from "./near-misses.ts";

const faults = (body: unknown): string[] => {
  const parsed = QueryRequest.safeParse(body);
  return parsed.success ? [] : parsed.error.issues.map((issue) => issue.path.join("."));
};

test("the query is trimmed before its length is checked", () => {
  expect(QueryRequest.parse({ query: "  hi \n" }).query).toBe("hi");
  expect(faults({ query: "   " })).toEqual(["query"]);
  expect(faults({ query: ` ${"x".repeat(LIMITS.queryUnits)} ` })).toEqual([]);
  expect(faults({ query: "x".repeat(LIMITS.queryUnits + 1) })).toEqual(["query"]);
});

test("null for an optional property and an empty optional string count as absent", () => {
  const absent = { threadId: null, sessionId: "", role: "", contextJson: null, analysisMode: null, llmConfig: null };
  expect(QueryRequest.parse({ query: "hi", ...absent })).toEqual({ query: "hi" });
});

test("a role with NUL is a fault, because no database keeps it", () => {
  expect(faults({ query: "hi", role: "support\0" })).toEqual(["role"]);
  expect(faults({ query: "hi", role: "support\u0001" })).toEqual([]);
});

test("null for the query is a fault", () => {
  expect(faults({ query: null })).toEqual(["query"]);
});

test("all faults of a body are reported together", () => {
  const body = {
    query: 1,
    role: "x".repeat(201),
    contextJson: "[",
    analysisMode: "yes",
    llmConfig: { maxTokens: 0, temperature: 3 },
  };
  expect(faults(body).sort()).toEqual(
    [
      "analysisMode",
      "contextJson",
      "llmConfig.maxTokens",
      "llmConfig.provider",
      "llmConfig.temperature",
      "query",
      "role",
    ].sort(),
  );
});

test("only three providers can be named", () => {
  for (const provider of ["anthropic", "openai", "gemini"])
    expect(faults({ query: "q", llmConfig: { provider } })).toEqual([]);
  for (const provider of ["offline", "Anthropic", "", null])
    expect(faults({ query: "q", llmConfig: { provider } })).toEqual(["llmConfig.provider"]);
});

test("maxTokens is an integer from 1 to 1,000,000 and temperature a number from 0 to 2", () => {
  const at = (more: object) => faults({ query: "q", llmConfig: { provider: "openai", ...more } });
  expect(
    [at({ maxTokens: 1 }), at({ maxTokens: 1_000_000 }), at({ temperature: 0 }), at({ temperature: 2 })].flat(),
  ).toEqual([]);
  expect([at({ maxTokens: 0 }), at({ maxTokens: 1_000_001 }), at({ maxTokens: 1.5 })].flat()).toHaveLength(3);
  expect([at({ temperature: -0.1 }), at({ temperature: 2.1 }), at({ temperature: "1" })].flat()).toHaveLength(3);
});

test("contextJson must be the text of a JSON object of at most 64 KiB", () => {
  for (const contextJson of ["[]", "1", "null", "{", '"{}"', {}, 7])
    expect(faults({ query: "q", contextJson })).toEqual(["contextJson"]);
  const frame = '{"a":""}'.length;
  const of = (bytes: number) => `{"a":"${"é".repeat((bytes - frame) / 2)}"}`;
  expect(faults({ query: "q", contextJson: of(LIMITS.contextBytes) })).toEqual([]);
  expect(faults({ query: "q", contextJson: of(LIMITS.contextBytes + 2) })).toEqual(["contextJson"]);
});

test("a __proto__ property of the context is dropped, also with escapes", () => {
  for (const name of ["__proto__", "\\u005f_proto__"]) {
    const parsed = QueryRequest.parse({ query: "q", contextJson: `{"${name}":{"admin":true},"a":1}` });
    expect(Object.keys(parsed.contextJson!)).toEqual(["a"]);
    expect((parsed.contextJson as { admin?: boolean }).admin).toBeUndefined();
  }
});

test("nesting beyond the limit is refused without parsing", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  expect(parseJson(nested(LIMITS.jsonDepth)).ok).toBe(true);
  expect(parseJson(nested(LIMITS.jsonDepth + 1)).ok).toBe(false);
  expect(parseJson(nested(100_000)).ok).toBe(false);
  expect(parseJson(`["${"[".repeat(1_000)}\\"["]`).ok).toBe(true);
});

test("unknown properties are dropped", () => {
  expect(QueryRequest.parse({ query: "q", surprise: 1 })).toEqual({ query: "q" });
  expect(LocalQueryRequest.parse({ query: "q", surprise: 1 })).toEqual({ query: "q" });
});

const REQUEST = {
  query: "q",
  threadId: "thr_1",
  sessionId: "s",
  role: "support",
  contextJson: "{}",
  analysisMode: true,
  llmConfig: { provider: "openai", model: "gpt-5", maxTokens: 1, temperature: 1, fallback: true },
  responseSchema: { type: "object", properties: {} },
  includeDeltas: true,
};
const LOCAL_REQUEST = {
  query: "q",
  thread_id: "thr_1",
  session_id: "s",
  role: "support",
  context: {},
  analysis_mode: true,
  llm_config: REQUEST.llmConfig,
  response_schema: REQUEST.responseSchema,
  include_deltas: true,
  max_tokens: 1,
};

test.each([
  ["QueryRequest", QueryRequest, REQUEST, ["responseSchema"]],
  ["LocalQueryRequest", LocalQueryRequest, LOCAL_REQUEST, ["response_schema", "context"]],
] as const)("%s refuses each property of a wrong type", (_, schema, request, json) => {
  expect(schema.safeParse(request).success).toBe(true);
  const accepted = near
    .wrongTypes(request, json)
    .filter(([path, value]) => value !== null && schema.safeParse(withProperty(request, path, value)).success);
  expect(accepted).toEqual([]);
});

test("parseJson agrees with JSON.parse on what it accepts", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value);
      if (text.includes("__proto__")) return;
      expect(parseJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
    }),
  );
});
