import { slugOf } from "./slug.ts";
import type { Entry, Section } from "./section.ts";

/** The parts of a JSON Schema that the pages show. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  description?: string;
  default?: unknown;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

const COLUMNS = ["member", "type", "meaning"] as const;

/** The members of an object as a table; of a union of objects, a table for each. */
export function schemaSections(schema: JsonSchema): Section[] {
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants === undefined) return [{ columns: COLUMNS, entries: memberEntries(schema) }];
  return variants.map((variant) => {
    const [tag, value] = discriminator(variant);
    return {
      heading: `${tag}: ${String(value)}`,
      ...(variant.description !== undefined && { text: variant.description }),
      columns: COLUMNS,
      entries: memberEntries(variant).filter(({ name }) => name !== `\`${tag}\``),
    };
  });
}

function discriminator({ properties = {} }: JsonSchema): [string, unknown] {
  const [tag, schema] = Object.entries(properties).find(([, { const: value }]) => value !== undefined) ?? [];
  if (tag === undefined) throw new Error("a member of a union has no constant that names it");
  return [tag, schema!.const];
}

function memberEntries({ properties = {}, required = [] }: JsonSchema): Entry[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const { items } = schema;
    const inner = schema.properties ? schema : items?.properties ? items : undefined;
    const prefix = inner === items && items !== undefined ? `${name}[]` : name;
    return [
      {
        name: `\`${name}\``,
        facts: [typeOf(schema), ...boundsOf(schema), ...(required.includes(name) ? [] : ["optional"])].join(", "),
        description: schema.description ?? "",
      },
      ...(inner ? memberEntries(inner) : []).map((one) => ({
        ...one,
        name: one.name.replace("`", `\`${prefix}.`),
      })),
    ];
  });
}

/** The type of a value as Markdown, with links to the schemas of the page. */
export function typeOf({ $ref, type, const: value, enum: values, items, anyOf, oneOf }: JsonSchema): string {
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf("/") + 1);
    return `[${name}](#${slugOf(name)})`;
  }
  if (value !== undefined) return `\`${JSON.stringify(value)}\``;
  if (values !== undefined) return values.map((one) => `\`${JSON.stringify(one)}\``).join(" or ");
  if (items !== undefined) return `list of ${typeOf(items)}`;
  const union = anyOf ?? oneOf;
  if (union !== undefined) return union.map(typeOf).join(" or ");
  return Array.isArray(type) ? type.join(" or ") : (type ?? "JSON");
}

function boundsOf(schema: JsonSchema): string[] {
  const { minimum, exclusiveMinimum, maximum, minLength, maxLength, maxItems } = schema;
  const lowest = minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + 1);
  return [
    ...range(isSafe(lowest), isSafe(maximum), ""),
    ...range(minLength, maxLength, " characters"),
    ...range(undefined, maxItems, " items"),
    ...(schema.default === undefined ? [] : [`default \`${JSON.stringify(schema.default)}\``]),
  ];
}

/** Bounds that only say that a number is an integer are left out. */
const isSafe = (bound: number | undefined) =>
  bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined;

const number = (value: number) => value.toLocaleString("en-US");

function range(from: number | undefined, to: number | undefined, unit: string): string[] {
  if (from !== undefined && to !== undefined) return [`${number(from)} to ${number(to)}${unit}`];
  if (from !== undefined) return [`at least ${number(from)}${unit}`];
  return to === undefined ? [] : [`at most ${number(to)}${unit}`];
}
