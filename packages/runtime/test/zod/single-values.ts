import { refusedKind, type Row } from "./row.ts";

/** An enum of TypeScript as JavaScript has it. */
const Level = { Low: 0, High: 1, 0: "Low", 1: "High" } as const;

/** Texts, numbers, lists of values, and types that JSON does not have. */
export const SINGLE_VALUES: readonly Row[] = [
  { name: "string", of: (z) => z.string(), schema: { type: "string" } },
  {
    name: "string with bounds",
    of: (z) => z.string().min(2).max(9),
    schema: { type: "string", minLength: 2, maxLength: 9 },
  },
  {
    name: "string of a length",
    of: (z) => z.string().length(3),
    schema: { type: "string", minLength: 3, maxLength: 3 },
  },
  {
    name: "string with a pattern",
    of: (z) => z.string().regex(/^#W\d+$/),
    schema: { type: "string", pattern: "^#W\\d+$" },
  },
  {
    name: "string with two patterns",
    of: (z) => z.string().regex(/^a/).regex(/b$/),
    schema: { type: "string", allOf: [{ pattern: "^a" }, { pattern: "b$" }] },
  },
  {
    name: "startsWith",
    of: (z) => z.string().startsWith("a."),
    schema: { type: "string", pattern: "^a\\..*" },
    except: [{ releases: ["3.25"], because: "its pattern has no end", schema: { pattern: "^a\\.", type: "string" } }],
  },
  { name: "email method", of: (z) => z.string().email(), schema: { type: "string", format: "email" } },
  { name: "uuid method", of: (z) => z.string().uuid(), schema: { type: "string", format: "uuid" } },
  { name: "url method", of: (z) => z.string().url(), schema: { type: "string", format: "uri" } },
  { name: "datetime method", of: (z) => z.string().datetime(), schema: { type: "string", format: "date-time" } },
  { name: "date method", of: (z) => z.string().date(), schema: { type: "string", format: "date" } },
  {
    name: "time method",
    of: (z) => z.string().time(),
    schema: { type: "string", pattern: "^(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?$" },
    except: [
      {
        releases: ["3.25"],
        because: "it writes the format, although its times have no offset",
        schema: { format: "time", type: "string" },
      },
    ],
  },
  { name: "trim", of: (z) => z.string().trim().min(1), schema: { type: "string", minLength: 1 } },
  { name: "email", of: (z) => z.email(), schema: { type: "string", format: "email" }, since: "3.25/v4" },
  {
    name: "email with a pattern",
    of: (z) => z.email({ pattern: /@corp\.com$/ }),
    schema: { type: "string", format: "email", pattern: "@corp\\.com$" },
    since: "3.25/v4",
  },
  { name: "url", of: (z) => z.url(), schema: { type: "string", format: "uri" }, since: "3.25/v4" },
  { name: "uuid", of: (z) => z.uuid(), schema: { type: "string", format: "uuid" }, since: "3.25/v4" },
  {
    name: "uuidv4",
    of: (z) => z.uuidv4(),
    schema: {
      type: "string",
      format: "uuid",
      pattern: "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$",
    },
    since: "3.25/v4",
  },
  { name: "guid", of: (z) => z.guid(), schema: { type: "string", format: "uuid" }, since: "3.25/v4" },
  {
    name: "iso datetime",
    of: (z) => z.iso.datetime(),
    schema: { type: "string", format: "date-time" },
    since: "3.25/v4",
  },
  {
    name: "iso datetime offset",
    of: (z) => z.iso.datetime({ offset: true }),
    schema: { type: "string", format: "date-time" },
    since: "3.25/v4",
  },
  {
    name: "iso datetime local",
    of: (z) => z.iso.datetime({ local: true }),
    schema: {
      type: "string",
      pattern:
        "^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))T(?:(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?(?:Z)|(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?)$",
    },
    since: "3.25/v4",
    except: [
      {
        releases: ["3.25/v4", "4.0", "4.1", "4.2"],
        because: "its pattern is another one",
        schema: {
          pattern:
            "^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))T(?:(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z|))$",
          type: "string",
        },
      },
    ],
  },
  { name: "iso date", of: (z) => z.iso.date(), schema: { type: "string", format: "date" }, since: "3.25/v4" },
  {
    name: "iso time",
    of: (z) => z.iso.time(),
    schema: { type: "string", pattern: "^(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?$" },
    since: "3.25/v4",
  },
  {
    name: "iso duration",
    of: (z) => z.iso.duration(),
    schema: { type: "string", format: "duration" },
    since: "3.25/v4",
  },
  { name: "ipv4", of: (z) => z.ipv4(), schema: { type: "string", format: "ipv4" }, since: "3.25/v4" },
  { name: "ipv6", of: (z) => z.ipv6(), schema: { type: "string", format: "ipv6" }, since: "3.25/v4" },
  {
    name: "hostname",
    of: (z) => z.hostname(),
    schema: {
      type: "string",
      format: "hostname",
      pattern:
        "^(?=.{1,253}\\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\\.?$",
    },
    since: "4.1",
  },
  {
    name: "base64",
    of: (z) => z.base64(),
    schema: {
      type: "string",
      format: "base64",
      contentEncoding: "base64",
      pattern: "^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$",
    },
    since: "3.25/v4",
  },
  {
    name: "nanoid",
    of: (z) => z.nanoid(),
    schema: { type: "string", format: "nanoid", pattern: "^[a-zA-Z0-9_-]{21}$" },
    since: "3.25/v4",
  },
  {
    name: "e164",
    of: (z) => z.e164(),
    schema: { type: "string", format: "e164", pattern: "^\\+[1-9]\\d{6,14}$" },
    since: "3.25/v4",
    except: [
      {
        releases: ["3.25/v4", "4.0", "4.1", "4.2"],
        because: "its pattern is another one",
        schema: { format: "e164", pattern: "^\\+(?:[0-9]){6,14}[0-9]$", type: "string" },
      },
    ],
  },
  {
    name: "template literal",
    of: (z) => z.templateLiteral(["#", z.number()]),
    schema: { type: "string", pattern: "^#-?\\d+(?:\\.\\d+)?$" },
    since: "3.25/v4",
  },
  { name: "number", of: (z) => z.number(), schema: { type: "number" } },
  {
    name: "number with bounds",
    of: (z) => z.number().min(0).max(10),
    schema: { type: "number", minimum: 0, maximum: 10 },
  },
  {
    name: "number exclusive",
    of: (z) => z.number().gt(0).lt(10),
    schema: { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 10 },
  },
  { name: "multipleOf", of: (z) => z.number().multipleOf(5), schema: { type: "number", multipleOf: 5 } },
  { name: "integer", of: (z) => z.number().int().min(1).max(10), schema: { type: "integer", minimum: 1, maximum: 10 } },
  {
    name: "unbounded integer",
    of: (z) => z.number().int(),
    schema: { type: "integer", minimum: -9007199254740991, maximum: 9007199254740991 },
    except: [{ releases: ["3.25"], because: "its integers have no bounds", schema: { type: "integer" } }],
  },
  {
    name: "int",
    of: (z) => z.int(),
    schema: { type: "integer", minimum: -9007199254740991, maximum: 9007199254740991 },
    since: "3.25/v4",
  },
  {
    name: "int32",
    of: (z) => z.int32(),
    schema: { type: "integer", minimum: -2147483648, maximum: 2147483647 },
    since: "3.25/v4",
  },
  { name: "boolean", of: (z) => z.boolean(), schema: { type: "boolean" } },
  { name: "null", of: (z) => z.null(), schema: { type: "null" } },
  {
    name: "any",
    of: (z) => z.any(),
    schema: {},
    except: [{ releases: ["3.25"], because: "it accepts an absent value", schema: {}, isOptional: true }],
  },
  {
    name: "unknown",
    of: (z) => z.unknown(),
    schema: {},
    except: [{ releases: ["3.25"], because: "it accepts an absent value", schema: {}, isOptional: true }],
  },
  { name: "never", of: (z) => z.never(), schema: { not: {} } },
  { name: "bigint", of: (z) => z.bigint(), schema: refusedKind("bigint") },
  { name: "date", of: (z) => z.date(), schema: refusedKind("date") },
  { name: "map", of: (z) => z.map(z.string(), z.string()), schema: refusedKind("map") },
  { name: "set", of: (z) => z.set(z.string()), schema: refusedKind("set") },
  { name: "symbol", of: (z) => z.symbol(), schema: refusedKind("symbol") },
  { name: "undefined", of: (z) => z.undefined(), schema: refusedKind("undefined") },
  { name: "void", of: (z) => z.void(), schema: refusedKind("void") },
  { name: "nan", of: (z) => z.nan(), schema: refusedKind("nan") },
  {
    name: "custom",
    of: (z) => z.custom<string>((value) => typeof value === "string"),
    schema: refusedKind("custom"),
    except: [{ releases: ["3.25"], because: "it makes this type of any(), which looks the same", schema: {} }],
  },
  {
    name: "instanceof",
    of: (z) => z.instanceof(URL),
    schema: refusedKind("custom"),
    except: [{ releases: ["3.25"], because: "it makes this type of any(), which looks the same", schema: {} }],
  },
  {
    name: "promise",
    of: (z) => z.promise(z.string()),
    schema: { type: "string" },
    except: [{ releases: ["3.25"], because: "it accepts only promises", schema: refusedKind("promise of zod 3") }],
  },
  {
    name: "file",
    of: (z) => z.file(),
    schema: refusedKind("file"),
    since: "3.25/v4",
  },
  { name: "enum", of: (z) => z.enum(["late", "broken"]), schema: { type: "string", enum: ["late", "broken"] } },
  { name: "native enum", of: (z) => z.nativeEnum(Level), schema: { type: "number", enum: [0, 1] } },
  {
    name: "enum object",
    of: (z) => z.enum({ A: "a", B: "b" }),
    schema: { type: "string", enum: ["a", "b"] },
    since: "3.25/v4",
  },
  { name: "literal", of: (z) => z.literal("all"), schema: { type: "string", const: "all" } },
  { name: "literal number", of: (z) => z.literal(7), schema: { type: "number", const: 7 } },
  { name: "literal null", of: (z) => z.literal(null), schema: { type: "null", const: null } },
  {
    name: "literals",
    of: (z) => z.literal(["a", "b"]),
    schema: { type: "string", enum: ["a", "b"] },
    since: "3.25/v4",
  },
  {
    name: "literal booleans",
    of: (z) => z.literal([true, false]),
    schema: { type: "boolean", enum: [true, false] },
    since: "3.25/v4",
  },
  { name: "literal undefined", of: (z) => z.literal(undefined), schema: refusedKind("literal") },
  { name: "literal bigint", of: (z) => z.literal(5n), schema: refusedKind("literal") },
];
