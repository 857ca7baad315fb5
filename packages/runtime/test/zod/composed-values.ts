import type { Row } from "./row.ts";

/** Alternatives, objects and lists. */
export const COMPOSED_VALUES: readonly Row[] = [
  {
    name: "union",
    of: (z) => z.union([z.string().min(1), z.number().min(1)]),
    schema: {
      anyOf: [
        { type: "string", minLength: 1 },
        { type: "number", minimum: 1 },
      ],
    },
  },
  { name: "union of types", of: (z) => z.union([z.string(), z.number()]), schema: { type: ["string", "number"] } },
  {
    name: "union of literals",
    of: (z) => z.union([z.literal("a"), z.literal("b")]),
    schema: {
      anyOf: [
        { type: "string", const: "a" },
        { type: "string", const: "b" },
      ],
    },
    except: [
      { releases: ["3.25"], because: "it joins literals to one list", schema: { enum: ["a", "b"], type: "string" } },
    ],
  },
  {
    name: "union of objects",
    of: (z) => z.union([z.object({ id: z.string() }), z.object({ name: z.string() })]),
    schema: {
      anyOf: [
        { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
        { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      ],
    },
  },
  {
    name: "intersection",
    of: (z) => z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() })),
    schema: { type: "object", properties: { a: { type: "string" }, b: { type: "number" } }, required: ["a", "b"] },
    except: [
      {
        releases: ["3.25", "4.2"],
        because: "it does not join objects",
        schema: {
          allOf: [
            { properties: { a: { type: "string" } }, required: ["a"], type: "object" },
            { properties: { b: { type: "number" } }, required: ["b"], type: "object" },
          ],
        },
      },
      {
        releases: ["3.25/v4", "4.0", "4.1"],
        copies: "one",
        because: "it does not join objects",
        schema: {
          allOf: [
            { properties: { a: { type: "string" } }, required: ["a"], type: "object" },
            { properties: { b: { type: "number" } }, required: ["b"], type: "object" },
          ],
        },
      },
    ],
  },
  {
    name: "record",
    of: (z) => z.record(z.string(), z.number()),
    schema: { type: "object", additionalProperties: { type: "number" } },
  },
  {
    name: "record with enum keys",
    of: (z) => z.record(z.enum(["x", "y"]), z.number()),
    schema: {
      type: "object",
      additionalProperties: { type: "number" },
      required: ["x", "y"],
      propertyNames: { type: "string", enum: ["x", "y"] },
    },
    except: [
      {
        releases: ["3.25"],
        because: "its records may lack keys",
        schema: { additionalProperties: { type: "number" }, propertyNames: { enum: ["x", "y"] }, type: "object" },
      },
    ],
  },
  {
    name: "partial record",
    of: (z) => z.partialRecord(z.enum(["x", "y"]), z.number()),
    schema: {
      type: "object",
      additionalProperties: { type: "number" },
      propertyNames: { type: "string", enum: ["x", "y"] },
    },
    since: "3.25/v4",
    except: [
      {
        releases: ["3.25/v4"],
        because: "it writes the keys as alternatives",
        schema: {
          additionalProperties: { type: "number" },
          propertyNames: { anyOf: [{ enum: ["x", "y"], type: "string" }, { not: {} }] },
          type: "object",
        },
      },
    ],
  },
  {
    name: "tuple",
    of: (z) => z.tuple([z.string(), z.number()]),
    schema: {
      type: "array",
      prefixItems: [{ type: "string" }, { type: "number" }],
      items: false,
      minItems: 2,
      maxItems: 2,
    },
    except: [
      {
        releases: ["3.25"],
        because: "it writes only the number of items",
        schema: { maxItems: 2, minItems: 2, prefixItems: [{ type: "string" }, { type: "number" }], type: "array" },
      },
    ],
  },
  {
    name: "tuple with a rest",
    of: (z) => z.tuple([z.string()]).rest(z.number()),
    schema: { type: "array", prefixItems: [{ type: "string" }], items: { type: "number" }, minItems: 1 },
  },
  {
    name: "array",
    of: (z) => z.array(z.string().describe("One tag")).min(1).max(5),
    schema: { minItems: 1, maxItems: 5, type: "array", items: { type: "string", description: "One tag" } },
  },
  {
    name: "object",
    of: (z) => z.object({ city: z.string(), zip: z.string().optional() }),
    schema: { type: "object", properties: { city: { type: "string" }, zip: { type: "string" } }, required: ["city"] },
  },
  {
    name: "strict object",
    of: (z) => z.object({ city: z.string() }).strict(),
    schema: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
  },
  {
    name: "open object",
    of: (z) => z.object({ city: z.string() }).passthrough(),
    schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: {} },
  },
  {
    name: "object with a catchall",
    of: (z) => z.object({ city: z.string() }).catchall(z.number()),
    schema: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: { type: "number" },
    },
  },
  {
    name: "recursive object",
    of: (z) => {
      const Part = z.object({
        name: z.string().describe("Its name"),
        get parts() {
          return z.array(Part).optional();
        },
      });
      return Part;
    },
    schema: { $ref: "#/$defs/__schema0" },
    defs: {
      __schema0: {
        type: "object",
        properties: {
          name: { type: "string", description: "Its name" },
          parts: { type: "array", items: { $ref: "#/$defs/__schema0" } },
        },
        required: ["name"],
      },
    },
    since: "3.25/v4",
  },
  {
    name: "recursive lazy object",
    of: (z) => {
      const Part: unknown = z.object({
        name: z.string().describe("Its name"),
        parts: z.array(z.lazy(() => Part as ReturnType<typeof z.string>)),
      });
      return Part;
    },
    schema: { $ref: "#/$defs/__schema0" },
    defs: {
      __schema0: {
        type: "object",
        properties: {
          name: { type: "string", description: "Its name" },
          parts: { type: "array", items: { $ref: "#/$defs/__schema0" } },
        },
        required: ["name", "parts"],
      },
    },
    except: [
      {
        releases: ["3.25"],
        because: "it refers to the place itself",
        schema: {
          type: "object",
          properties: {
            name: { type: "string", description: "Its name" },
            parts: { type: "array", items: { $ref: "#/properties/a" } },
          },
          required: ["name", "parts"],
        },
      },
    ],
  },
];
