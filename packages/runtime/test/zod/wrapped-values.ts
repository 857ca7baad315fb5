import { refusedKind, type Row } from "./row.ts";

/** Absent values, defaults, texts for the model, and conversions. */
export const WRAPPED_VALUES: readonly Row[] = [
  { name: "nullable", of: (z) => z.string().nullable(), schema: { type: ["string", "null"] } },
  {
    name: "nullable with bounds",
    of: (z) => z.string().min(1).nullable(),
    schema: { anyOf: [{ type: "string", minLength: 1 }, { type: "null" }] },
  },
  {
    name: "nullable described inside",
    of: (z) => z.string().min(1).describe("A name").nullable(),
    schema: { anyOf: [{ type: "string", minLength: 1, description: "A name" }, { type: "null" }] },
    except: [
      {
        releases: ["3.25"],
        because: "it describes the alternatives, too",
        schema: {
          anyOf: [{ description: "A name", minLength: 1, type: "string" }, { type: "null" }],
          description: "A name",
        },
      },
    ],
  },
  {
    name: "nullable described outside",
    of: (z) => z.string().min(1).nullable().describe("A name"),
    schema: { anyOf: [{ type: "string", minLength: 1 }, { type: "null" }], description: "A name" },
  },
  { name: "optional", of: (z) => z.string().optional(), schema: { type: "string" }, isOptional: true },
  {
    name: "optional described inside",
    of: (z) => z.string().describe("A name").optional(),
    schema: { type: "string", description: "A name" },
    isOptional: true,
  },
  { name: "nullish", of: (z) => z.string().nullish(), schema: { type: ["string", "null"] }, isOptional: true },
  { name: "default", of: (z) => z.number().default(10), schema: { default: 10, type: "number" }, isOptional: true },
  {
    name: "default described",
    of: (z) => z.number().default(10).describe("At most"),
    schema: { default: 10, description: "At most", type: "number" },
    isOptional: true,
  },
  {
    name: "prefault",
    of: (z) => z.string().prefault("x"),
    schema: { default: "x", type: "string" },
    isOptional: true,
    since: "3.25/v4",
  },
  {
    name: "catch",
    of: (z) => z.number().catch(1),
    schema: { default: 1, type: "number" },
    except: [
      { releases: ["3.25"], because: "it accepts an absent value", schema: { type: "number" }, isOptional: true },
      {
        releases: ["3.25/v4"],
        copies: "one",
        because: "it accepts an absent value",
        schema: { default: 1, type: "number" },
        isOptional: true,
      },
    ],
  },
  {
    name: "readonly",
    of: (z) => z.string().readonly(),
    schema: { readOnly: true, type: "string" },
    except: [{ releases: ["3.25"], because: "it does not write it", schema: { type: "string" } }],
  },
  { name: "brand", of: (z) => z.string().brand("Id"), schema: { type: "string" } },
  {
    name: "describe",
    of: (z) => z.string().describe("Name of the city"),
    schema: { type: "string", description: "Name of the city" },
  },
  {
    name: "describe then check",
    of: (z) => z.string().describe("Name of the city").min(2),
    schema: { type: "string", minLength: 2, description: "Name of the city" },
    except: [
      {
        releases: ["3.25/v4", "4.0", "4.1", "4.2"],
        because: "the check makes a schema that has no description in this release, so nothing shows the loss",
        schema: { minLength: 2, type: "string" },
      },
    ],
  },
  {
    name: "describe an enum",
    of: (z) => z.enum(["a", "b"]).describe("Which kind"),
    schema: { type: "string", enum: ["a", "b"], description: "Which kind" },
  },
  {
    name: "describe an object",
    of: (z) => z.object({ x: z.string().describe("X") }).describe("A place"),
    schema: {
      type: "object",
      properties: { x: { type: "string", description: "X" } },
      required: ["x"],
      description: "A place",
    },
  },
  {
    name: "id",
    of: (z) => z.object({ x: z.string().describe("X") }).meta({ id: "Place" }),
    schema: { $ref: "#/$defs/Place" },
    defs: { Place: { type: "object", properties: { x: { type: "string", description: "X" } }, required: ["x"] } },
    since: "3.25/v4",
  },
  {
    name: "tuple of objects",
    of: (z) => z.tuple([z.object({ x: z.string().describe("X") })]),
    schema: {
      type: "array",
      prefixItems: [{ type: "object", properties: { x: { type: "string", description: "X" } }, required: ["x"] }],
      items: false,
      minItems: 1,
      maxItems: 1,
    },
    except: [
      {
        releases: ["3.25"],
        because: "it writes only the number of items",
        schema: {
          maxItems: 1,
          minItems: 1,
          prefixItems: [{ properties: { x: { description: "X", type: "string" } }, required: ["x"], type: "object" }],
          type: "array",
        },
      },
    ],
  },
  { name: "transform", of: (z) => z.string().transform((text) => text.length), schema: { type: "string" } },
  {
    name: "bare transform",
    of: (z) => z.transform((value) => value),
    schema: refusedKind("transform"),
    since: "3.25/v4",
  },
  {
    name: "preprocess",
    of: (z) => z.preprocess((value) => value, z.string().describe("Text")),
    schema: { type: "string", description: "Text" },
  },
  { name: "coerce number", of: (z) => z.coerce.number(), schema: { type: "number" } },
  {
    name: "coerce string",
    of: (z) => z.coerce.string(),
    schema: { type: "string" },
    except: [
      { releases: ["3.25"], because: "it accepts an absent value", schema: { type: "string" }, isOptional: true },
    ],
  },
  {
    name: "coerce boolean",
    of: (z) => z.coerce.boolean(),
    schema: { type: "boolean" },
    except: [
      { releases: ["3.25"], because: "it accepts an absent value", schema: { type: "boolean" }, isOptional: true },
    ],
  },
  { name: "coerce date", of: (z) => z.coerce.date(), schema: { type: "string", format: "date-time" } },
  {
    name: "coerce bigint",
    of: (z) => z.coerce.bigint(),
    schema: { type: "integer" },
    except: [{ releases: ["3.25"], because: "it adds a format", schema: { format: "int64", type: "integer" } }],
  },
  { name: "text to date", of: (z) => z.string().pipe(z.coerce.date()), schema: { type: "string" } },
  { name: "stringbool", of: (z) => z.stringbool(), schema: { type: "string" }, since: "3.25/v4" },
  {
    name: "lazy",
    of: (z) => z.lazy(() => z.string().describe("Later")),
    schema: { type: "string", description: "Later" },
  },
  {
    name: "json",
    of: (z) => z.json(),
    schema: { $ref: "#/$defs/__schema0" },
    defs: {
      __schema0: {
        anyOf: [
          { type: "string" },
          { type: "number" },
          { type: "boolean" },
          { type: "null" },
          { type: "array", items: { $ref: "#/$defs/__schema0" } },
          { type: "object", additionalProperties: { $ref: "#/$defs/__schema0" } },
        ],
      },
    },
    since: "3.25/v4",
  },
];
