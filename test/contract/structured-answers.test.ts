import type { JsonObject } from "@patchbay/kit";
import { expect, test } from "vitest";
import { scriptFor } from "@patchbay/test-support/providers";
import { startContractSystem } from "./contract-system.ts";

const schema = { type: "object", properties: { late: { type: "integer" } }, required: ["late"] };
const responds = (value: JsonObject) => scriptFor({ calls: [{ name: "respond", arguments: value }] });

const member = (value: unknown) => ({ type: "object", properties: { a: value } });
const nested = (levels: number): object =>
  levels === 0 ? { type: "string" } : { type: "array", items: nested(levels - 1) };

const refused: [rule: string, schema: unknown, path: string][] = [
  ["a root that is not type: object", { type: "array" }, ".type"],
  ["anyOf at the root", { type: "object", anyOf: [true] }, ".anyOf"],
  ["oneOf at the root", { type: "object", oneOf: [true] }, ".oneOf"],
  ["allOf at the root", { type: "object", allOf: [true] }, ".allOf"],
  ["more than 65,536 bytes", { type: "object", description: "x".repeat(65_536) }, ""],
  ["a $ref to another document", member({ $ref: "https://example.com/a.json" }), ".properties.a.$ref"],
  ["a $ref that does not resolve", member({ $ref: "#/$defs/none" }), ".properties.a.$ref"],
  ["depth above 10", member(nested(10)), `.properties.a${".items".repeat(9)}`],
  [
    "more than 200 properties",
    { type: "object", properties: Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`m${i}`, true])) },
    ".properties",
  ],
  ["a name above 64 characters", { type: "object", properties: { ["n".repeat(65)]: true } }, ".properties"],
  ["$async", { type: "object", $async: true }, ".$async"],
  ["an invalid 2020-12 schema", member({ type: "text" }), ".properties.a.type"],
  ["a pattern that cannot run in bounded time", member({ pattern: "(a+)\\1" }), ".properties.a.pattern"],
  ["not an object", "object", ""],
];

test.each(refused)(
  "responseSchema: %s -> 400 with its path at all three endpoints",
  async (_, responseSchema, path) => {
    await using system = await startContractSystem(responds({ late: 2 }));

    for (const endpoint of ["query", "query-stream"] as const) {
      const response = await system.post(system.path(endpoint), { query: "hi", responseSchema });
      expect(response.status).toBe(400);
      const body = (await response.json()) as { details: { path: string }[] };
      expect(body).toMatchObject({
        success: false,
        code: "invalid_request",
        details: [{ path: `responseSchema${path}` }],
      });
    }
    const local = system.local("hi", { response_schema: responseSchema });
    await expect(local).rejects.toThrow(`"path":"response_schema${path}"`);
    expect(system.sent()).toEqual([]);
  },
);

test("unknown keywords are ignored, and null counts as absent", async () => {
  await using system = await startContractSystem(responds({ late: 2 }));

  const answer = await system.query("hi", { responseSchema: { ...schema, "x-order": ["late"], propertyOrdering: 1 } });

  expect(answer).toMatchObject({ success: true, structured: { late: 2 } });
  await using plain = await startContractSystem(scriptFor({ text: "Two." }));
  expect(await plain.query("hi", { responseSchema: null })).not.toHaveProperty("structured");
});

test("structured is in the answer, finalResponse and final_response; response is the value as fenced JSON", async () => {
  await using system = await startContractSystem(responds({ late: 2 }));
  const value = { structured: { late: 2 }, response: '```json\n{\n  "late": 2\n}\n```' };

  const answer = await system.query("hi", { responseSchema: schema });
  const stream = await system.stream("hi", { responseSchema: schema, includeDeltas: true });
  const local = await system.local("hi", { response_schema: schema, include_deltas: true });
  const detail = await system.get(`/agents/${system.agentId}/runs/${answer.runId}`);

  expect(answer).toMatchObject({ success: true, toolInteractions: [], ...value });
  expect(stream.events.map(({ data }) => data.type)).toEqual(["finalResponse"]);
  expect(stream.events[0]?.data).toMatchObject(value);
  expect(local.events.map(({ data }) => data.type)).toEqual(["final_response"]);
  expect(local.events[0]?.data.data).toMatchObject(value);
  expect(await detail.json()).toMatchObject({ result: value });
});

test("a value that stays invalid: output_invalid with the raw text, without structured", async () => {
  await using system = await startContractSystem(responds({ late: "two" }));

  const answer = await system.query("hi", { responseSchema: schema });
  const stream = await system.stream("hi", { responseSchema: schema });

  expect(answer).toMatchObject({ success: false, code: "output_invalid", response: '{"late":"two"}' });
  expect(answer).not.toHaveProperty("structured");
  expect(stream.events.map(({ data }) => data)).toEqual([
    {
      type: "error",
      code: "output_invalid",
      errorMessage: answer.errorMessage,
      threadId: expect.anything(),
      runId: expect.anything(),
    },
  ]);
});

test("the same Idempotency-Key with another responseSchema -> 422", async () => {
  await using system = await startContractSystem(responds({ late: 2 }));
  const key = { "Idempotency-Key": "once" };

  const first = await system.query("hi", { responseSchema: schema }, key);
  const joined = await system.query("hi", { responseSchema: schema }, key);
  const other = await system.post(system.path(), { query: "hi", responseSchema: { ...schema, title: "B" } }, key);

  expect(joined).toEqual(first);
  expect(other.status).toBe(422);
});
