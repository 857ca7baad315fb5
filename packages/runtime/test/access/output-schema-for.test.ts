import { type FunctionManifest } from "@patchbay/protocol";
import { type JsonObject } from "@patchbay/kit";
import { outputSchemaFor } from "@patchbay/access";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, visibleTo, type Schema } from "../../src/index.ts";

const described = (output: Schema): FunctionManifest =>
  defineFunction({
    name: "get_order",
    description: "x",
    input: z.object({}),
    output: output as never,
    roles: ["agent", "customer"],
    handler: () => null as never,
  }).manifest;

const order = described(
  z.object({
    id: z.string(),
    cost: visibleTo(z.number(), ["agent"]),
    items: z.array(z.object({ name: z.string(), margin: visibleTo(z.object({ secretRate: z.number() }), ["agent"]) })),
  }),
);
const propertiesOf = (schema: JsonObject | undefined) => Object.keys((schema?.["properties"] ?? {}) as object);

test("a role that receives everything gets the whole schema, without marks", () => {
  const schema = outputSchemaFor(order, "agent");

  expect(propertiesOf(schema)).toEqual(["id", "cost", "items"]);
  expect(JSON.stringify(schema)).toContain("secretRate");
  expect(JSON.stringify(schema)).not.toContain("x-visible-to");
});

test("what a role does not receive is not in its schema, nor are its names", () => {
  const schema = outputSchemaFor(order, "customer");

  expect(propertiesOf(schema)).toEqual(["id", "items"]);
  expect(schema).toMatchObject({ required: ["id", "items"] });
  for (const name of ["cost", "margin", "secretRate", "x-visible-to", "agent"])
    expect(JSON.stringify(schema)).not.toContain(name);
});

test("a role that may not call the function gets no schema", () => {
  expect(outputSchemaFor(order, "auditor")).toBe(undefined);
  expect(outputSchemaFor(order, undefined)).toBe(undefined);
  const { outputSchema: _, ...withoutSchema } = order;
  expect(outputSchemaFor(withoutSchema, "agent")).toBe(undefined);
});

test("a definition that only a restricted member used is removed", () => {
  const schema = outputSchemaFor(
    described({
      type: "object",
      properties: {
        open: { $ref: "#/$defs/open" },
        closed: { "x-visible-to": ["agent"], $ref: "#/$defs/closed" },
      },
      required: ["open", "closed"],
      dependentRequired: { closed: ["open"] },
      $defs: { open: { type: "string" }, closed: { type: "object", properties: { secretRate: { type: "number" } } } },
    }),
    "customer",
  );

  expect(schema).toMatchObject({ properties: { open: { $ref: "#/$defs/open" } }, required: ["open"] });
  expect(JSON.stringify(schema)).not.toMatch(/closed|secretRate/);
});

test("a schema that cannot be cut is left out", () => {
  const choice = described({
    type: "object",
    properties: {
      price: {
        anyOf: [
          { type: "object", "x-visible-to": ["agent"] },
          { type: "object", properties: { net: {} } },
        ],
      },
    },
  });

  expect(outputSchemaFor(choice, "customer")).toBe(undefined);
  expect(outputSchemaFor(choice, "agent")).toBeDefined();
});

test("a schema of an earlier runtime, whose marks are not in it, is left out", () => {
  const { outputSchema, ...rest } = order;
  const unmarked = JSON.parse(
    JSON.stringify(outputSchema, (name, value: unknown) => (name === "x-visible-to" ? undefined : value)),
  ) as JsonObject;

  expect(outputSchemaFor({ ...rest, outputSchema: unmarked }, "customer")).toBe(undefined);
});
