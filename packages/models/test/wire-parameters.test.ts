import { followRef } from "@patchbay/schema";
import { type JsonObject } from "@patchbay/kit";
import { expect, test } from "vitest";
import { wireParameters } from "../src/wire-parameters.ts";
import type { ModelFunction } from "@patchbay/engine/ports/model-provider";

const text = { type: "string" };
const search: ModelFunction = {
  name: "search",
  description: "Searches.",
  effect: "read",
  inputSchema: {
    type: "object",
    properties: {
      año: { type: "integer", description: "The year." },
      $top: { type: "integer" },
      filter: { type: "array", items: { type: "object", properties: { "filter[x]": text }, required: ["filter[x]"] } },
      tags: { type: "object", additionalProperties: text },
      plain: { ...text, enum: ["año"] },
    },
    required: ["año", "plain"],
    dependentRequired: { $top: ["año"] },
  },
};
const KEY = /^[a-zA-Z0-9_.-]{1,64}$/;

function keysIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysIn(inner)]);
}

test("every property has a name that the wire accepts, and the description has the owner's name", () => {
  const schema = wireParameters([search]).schemaOf(search);
  const properties = schema["properties"] as Record<string, { description?: string }>;
  const [year, top, , , plain] = Object.keys(properties);

  expect(Object.keys(properties).every((key) => KEY.test(key))).toBe(true);
  expect(properties[year!]!.description).toBe('Named "año". The year.');
  expect(properties[top!]!.description).toBe('Named "$top".');
  expect(schema["required"]).toEqual([year, plain]);
  expect(schema["dependentRequired"]).toEqual({ [top!]: [year] });
  expect(properties["plain"]).toEqual({ ...text, enum: ["año"] });
});

test("arguments are mapped both ways, at every depth", () => {
  const parameters = wireParameters([search]);
  const args = { año: 2026, $top: 3, filter: [{ "filter[x]": "a" }], tags: { año: "x" }, plain: "año" };

  const wire = parameters.toWire("search", args);

  expect(keysIn(wire).every((key) => KEY.test(key))).toBe(true);
  expect(JSON.parse(parameters.fromWire("search", JSON.stringify(wire)))).toEqual(args);
});

test("text that is not JSON and valid names are not changed", () => {
  const fine: ModelFunction = { ...search, name: "fine", inputSchema: { type: "object", properties: { id: text } } };
  const parameters = wireParameters([search, fine]);

  expect(parameters.fromWire("search", '{"año')).toBe('{"año');
  expect(parameters.fromWire("fine", '{ "id": "1" }')).toBe('{ "id": "1" }');
  expect(parameters.schemaOf(fine)).toBe(wireParameters([fine]).schemaOf(fine));
});

test.each([
  ["#/properties/a%C3%B1o"],
  ["#/properties/año"],
  ["#/properties/filter~1x/items/properties/t%7Eo%25"],
  ["#/properties/properties/properties/a%C3%B1o"],
  ["#/$defs/enum/properties/a%C3%B1o"],
  ["#/$defs/properties/allOf/0/properties/año"],
  ["#/$defs/año"],
  ["#/dependentSchemas/año"],
  ["#/properties/100%"],
])("the reference %s leads to the same schema by the names of the wire", ($ref) => {
  const year = { type: "integer", title: "year" };
  const inputSchema: JsonObject = {
    type: "object",
    properties: {
      año: year,
      "filter/x": { type: "array", items: { type: "object", properties: { "t~o%": year } } },
      properties: { type: "object", properties: { año: year } },
      "100%": year,
      b: { type: "object", properties: { c: { $ref } } },
    },
    dependentSchemas: { año: year },
    $defs: {
      año: year,
      enum: { type: "object", properties: { año: year } },
      properties: { allOf: [{ type: "object", properties: { año: year } }] },
    },
  };
  const one: ModelFunction = { ...search, inputSchema };

  const schema = wireParameters([one]).schemaOf(one);

  const ref = followRef(schema, "#/properties/b/properties/c/$ref") as string;
  expect(followRef(schema, ref)).toMatchObject(year);
});

test("parameters of a definition named like a keyword are mapped as well", () => {
  const inner = { type: "object", properties: { año: text }, required: ["año"] };
  const inputSchema: JsonObject = {
    type: "object",
    properties: { default: { $ref: "#/$defs/enum" } },
    $defs: { enum: inner, required: inner, properties: inner, const: inner },
    patternProperties: { "^enum|año$": inner },
  };
  const one: ModelFunction = { ...search, inputSchema };

  const { $defs, patternProperties } = wireParameters([one]).schemaOf(one) as Record<string, JsonObject>;

  for (const schema of [...Object.values($defs!), ...Object.values(patternProperties!)] as (typeof inner)[]) {
    expect(Object.keys(schema.properties)).toEqual([expect.stringMatching(KEY)]);
    expect(schema.required).toEqual(Object.keys(schema.properties));
  }
  expect(Object.keys($defs!)).toEqual(["enum", "required", "properties", "const"]);
  expect(Object.keys(patternProperties!)).toEqual(["^enum|año$"]);
});
