import type { JsonObject } from "@patchbay/functions";
import { expect, test } from "vitest";
import { documentOf, openShop } from "./support/shop.ts";

const body = (schema: JsonObject, isRequired = true): JsonObject => ({
  requestBody: { required: isRequired, content: { "application/json": { schema } } },
});
const text = { type: "string" };

/** The input of the only operation in a document. */
async function inputOf(operation: JsonObject, rest: JsonObject = {}): Promise<unknown> {
  await using shop = await openShop(documentOf({ "POST /a/{id}": { parameters: [ID], ...operation } }, rest));
  expect(shop.api.leftOut).toEqual([]);
  return shop.manifest.functions[0]!.inputSchema;
}

const ID = { name: "id", in: "path", required: true, schema: text };

test("the members of a body are members of the input, next to the parameters", async () => {
  const order = { type: "object", properties: { total: { type: "number" } }, required: ["total"] };
  expect(await inputOf(body(order))).toEqual({
    type: "object",
    properties: { id: text, total: { type: "number" } },
    required: ["id", "total"],
  });
});

test("so are those of its parts, also by reference", async () => {
  const schemas = { Base: { type: "object", properties: { note: text }, required: ["note"] } };
  const whole = { allOf: [{ $ref: "#/components/schemas/Base" }, { properties: { total: { type: "number" } } }] };
  expect(await inputOf(body(whole), { components: { schemas } })).toMatchObject({
    properties: { id: text, note: text, total: { type: "number" } },
    required: ["id", "note"],
  });
});

test.each<[string, JsonObject]>([
  ["has a member with the name of a parameter", { type: "object", properties: { id: text } }],
  ["has a member with a name that models cannot write", { type: "object", properties: { "a b": text } }],
  ["has other members too", { type: "object", properties: { a: text }, additionalProperties: text }],
  ["is a list", { type: "array", items: text }],
  ["has no members", { type: "object" }],
  ["has the same member in two parts", { allOf: [{ properties: { a: text } }, { properties: { a: text } }] }],
])("a body that %s is one member", async (_name, schema) => {
  expect(await inputOf(body(schema))).toMatchObject({
    properties: { id: text, body: schema },
    required: ["id", "body"],
  });
});

test("of a body with alternatives more than one may match, because the API distinguishes them", async () => {
  const oneOf = [
    { type: "object", properties: { a: text } },
    { type: "object", properties: { b: text } },
  ];
  expect(await inputOf(body({ oneOf }))).toMatchObject({ properties: { body: { anyOf: oneOf } } });
});

test("a parameter of the operation replaces that of its path, and equal names have their places", async () => {
  const parameters = [
    ID,
    { name: "id", in: "query", schema: { type: "integer" } },
    { ...ID, description: "The order." },
  ];
  const others = ["filter[state]", "Sent<", "Sent>", "Sent="].map((name) => ({ name, in: "query", schema: text }));
  const sentAs = (name: string) => ({ ...text, description: `Sent as ${name}.` });
  expect(await inputOf({ parameters: [...parameters, ...others] })).toEqual({
    type: "object",
    properties: {
      id: { ...text, description: "The order." },
      id_query: { type: "integer" },
      filter_state: sentAs("filter[state]"),
      Sent: sentAs("Sent<"),
      Sent_query: sentAs("Sent>"),
      Sent_2: sentAs("Sent="),
    },
    required: ["id"],
  });
});

test("members that the API sets are not in the input, and defaults are the API's", async () => {
  const schema = {
    type: "object",
    properties: {
      id: { type: "string", readOnly: true },
      made: { $ref: "#/components/schemas/Time" },
      state: { type: "string", default: "open", description: "The state", example: "closed" },
    },
    required: ["id", "made", "state"],
  };
  const schemas = { Time: { type: "string", readOnly: true } };
  await using shop = await openShop(documentOf({ "PATCH /a": body(schema) }, { components: { schemas } }));
  expect(shop.manifest.functions[0]!.inputSchema).toEqual({
    type: "object",
    properties: { state: { type: "string", description: 'The state. Default: "open". Example: "closed".' } },
    required: ["state"],
  });
});

test("a default is not sent for a member that the model leaves out", async () => {
  const schema = { type: "object", properties: { a: text, state: { type: "string", default: "open" } } };
  await using shop = await openShop(documentOf({ "PATCH /a": body(schema) }));
  expect((await shop.sent("patch_a", { a: "x" })).body).toBe('{"a":"x"}');
});

test("members that the document does not list are not sent", async () => {
  const user = { type: "object", properties: { name: text, address: { type: "object", properties: { city: text } } } };
  await using shop = await openShop(documentOf({ "POST /a": body(user) }));
  const request = await shop.sent("post_a", { name: "Ada", isAdmin: true, address: { city: "Bern", isAdmin: true } });
  expect(request.body).toBe('{"name":"Ada","address":{"city":"Bern"}}');
});

test("schemas that refer to themselves stay so", async () => {
  const node = {
    type: "object",
    properties: { name: text, children: { type: "array", items: { $ref: "#/components/schemas/Node" } } },
  };
  await using shop = await openShop(
    documentOf({ "POST /a": body({ $ref: "#/components/schemas/Node" }) }, { components: { schemas: { Node: node } } }),
  );
  const children = { type: "array", items: { $ref: "#/$defs/Node" } };
  expect(shop.manifest.functions[0]!.inputSchema).toMatchObject({
    properties: { name: text, children },
    $defs: { Node: { properties: { name: text, children } } },
  });
  const tree = { name: "a", children: [{ name: "b", children: [{ name: "c" }] }] };
  expect(JSON.parse((await shop.sent("post_a", tree)).body)).toEqual(tree);
  expect(await shop.call("post_a", { children: [{ name: 1 }] })).toMatchObject({ code: "invalid_arguments" });
});

test("definitions with one name in two places have two", async () => {
  const parameters = ["a", "b"].map((name) => ({
    name,
    in: "query",
    schema: { type: "array", items: { $ref: `#/components/${name}/Id` } },
  }));
  const components = { a: { Id: text }, b: { Id: { type: "integer" } } };
  await using shop = await openShop(documentOf({ "GET /a": { parameters } }, { components }));
  expect(shop.manifest.functions[0]!.inputSchema).toMatchObject({
    properties: { a: { items: { $ref: "#/$defs/Id" } }, b: { items: { $ref: "#/$defs/Id_2" } } },
    $defs: { Id: text, Id_2: { type: "integer" } },
  });
});

test("forms of OpenAPI 3.0 are those of JSON Schema", async () => {
  const schemas = { Name: { type: "string" } };
  const schema = {
    type: "object",
    properties: {
      a: { type: "string", nullable: true },
      b: { nullable: true, allOf: [{ $ref: "#/components/schemas/Name" }], description: "A name." },
      c: { type: "number", minimum: 0, exclusiveMinimum: true },
      d: { type: "string", required: true },
      e: { nullable: true, description: "Anything." },
    },
  };
  expect(await inputOf(body(schema), { openapi: "3.0.3", components: { schemas } })).toMatchObject({
    properties: {
      a: { type: ["string", "null"] },
      b: { description: "A name.", anyOf: [{ allOf: [{ $ref: "#/$defs/Name" }] }, { type: "null" }] },
      c: { type: "number", exclusiveMinimum: 0 },
      d: text,
      e: { description: "Anything." },
    },
  });
});

test("patterns that cannot be matched here are left to the API", async () => {
  const patterns = ["^[a-z]+$", "^(?=a)b", "^(a+)\\1$", "\\A[a-z]\\Z", "["];
  const properties = Object.fromEntries(patterns.map((pattern, i) => [`p${i}`, { type: "string", pattern }]));
  expect(await inputOf(body({ type: "object", properties }))).toMatchObject({
    properties: { id: text, p0: { type: "string", pattern: "^[a-z]+$" }, p1: text, p2: text, p3: text, p4: text },
  });
});

test("definitions that do not fit lose their descriptions first, and then accept anything of their type", async () => {
  const long = "x".repeat(10_000);
  const part = (i: number) => ({
    type: "object",
    description: long,
    properties: { [`${"m".repeat(9000)}${i}`]: text },
  });
  const described = (count: number) => {
    const schemas = Object.fromEntries(Array.from({ length: count }, (_, i) => [`S${i}`, part(i)]));
    const properties = Object.fromEntries(
      Object.keys(schemas).map((name) => [name, { $ref: `#/components/schemas/${name}` }]),
    );
    return inputOf(body({ type: "object", properties }), { components: { schemas } });
  };
  expect(JSON.stringify(await described(2))).toContain(long);
  const five = JSON.stringify(await described(5));
  expect(five).not.toContain(long);
  expect(five).toContain("mmm4");
  expect(await described(6)).toMatchObject({ $defs: { S5: { type: "object" } } });
  expect(JSON.stringify(await described(6))).not.toContain("mmm5");
});

test("long ids may be texts, because a number would lose digits", async () => {
  const parameters = [{ name: "id", in: "path", required: true, schema: { type: "integer", format: "int64" } }];
  await using shop = await openShop(documentOf({ "GET /a/{id}": { parameters } }));
  expect((await shop.sent("get_a_id", { id: "9007199254740993" })).url).toBe("/a/9007199254740993");
  expect(await shop.call("get_a_id", { id: "x" })).toMatchObject({ code: "invalid_arguments" });
});

test("a parameter may have a schema that an answer only reads", async () => {
  const schemas = { Id: { type: "string", readOnly: true } };
  const parameters = [{ name: "id", in: "path", required: true, schema: { $ref: "#/components/schemas/Id" } }];
  expect(await inputOf({ parameters }, { components: { schemas } })).toMatchObject({
    properties: { id: text },
    required: ["id"],
  });
});

test("headers that decide whom a request reaches are not parameters", async () => {
  const header = (name: string) => ({ name, in: "header", schema: text });
  const parameters = [ID, ...["Authorization", "Host", "Accept", "X-Trace"].map(header)];
  expect(await inputOf({ parameters })).toMatchObject({ properties: { id: text, "X-Trace": text } });
});
