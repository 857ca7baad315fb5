import { isJsonObject, type JsonValue } from "@patchbay/protocol";
import { rawJsonSchema } from "../schema/describe.ts";
import { isStandardSchema, isZod3, isZod4, type Schema } from "../schema/schema.ts";
import { buildShape, rolesNamed, type Dialect, type Part } from "./builder.ts";
import { jsonSchemaDialect } from "./json-schema-dialect.ts";
import { hiddenPlaces, redact, type Redacted } from "./redact.ts";
import { zod3Dialect } from "./zod3-dialect.ts";
import { zod4Dialect } from "./zod4-dialect.ts";

/** What the marks of an output schema take out of results. */
export interface Protection {
  /** Every role that a mark names. */
  readonly roles: readonly string[];
  /** A result that has passed the schema, as `role` gets it. */
  redact(result: JsonValue, role: string | undefined): Redacted;
  /** The places that `role` does not see, as paths such as `orders[].cost`. */
  hiddenFrom(role: string | undefined): string[];
}

/** Reads the marks of an output schema; undefined when it has none. Throws DefinitionError for marks that would protect nothing. */
export function createProtection(schema: Schema, where: string): Protection | undefined {
  const [root, dialect] = readable(schema, where);
  const shape = dialect && buildShape(root, dialect, where);
  if (shape === undefined) return undefined;
  return {
    roles: rolesNamed(shape),
    redact: (result, role) => redact(shape, result, role),
    hiddenFrom: (role) => hiddenPlaces(shape, role),
  };
}

/** Libraries other than these have no marks. */
function readable(schema: Schema, where: string): [root: Part, dialect?: Dialect] {
  if (isZod4(schema)) return [schema, zod4Dialect(where)];
  if (isZod3(schema)) return [schema, zod3Dialect];
  if (isStandardSchema(schema) || !isJsonObject(schema)) return [schema];
  const root = rawJsonSchema(schema);
  return [root, jsonSchemaDialect(root, where)];
}
