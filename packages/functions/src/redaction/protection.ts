import { isJsonObject, type JsonValue, type Redaction } from "@patchbay/protocol";
import { DefinitionError } from "../errors.ts";
import { readRawSchema } from "../schema/raw.ts";
import { isStandardSchema, isZod3, isZod4, type Schema } from "../schema/schema.ts";
import { buildShape, rolesNamed, type Dialect, type Part } from "./builder.ts";
import { MARK } from "./mark.ts";
import { jsonSchemaDialect } from "./json-schema-dialect.ts";
import { hiddenPlaces, markedPlaces, protectedMembers, redact, type Redacted } from "./redact.ts";
import { zod3Dialect } from "./zod3-dialect.ts";
import { zod4Dialect } from "./zod4-dialect.ts";

/** What the marks of an output schema take out of results. */
export interface Protection {
  /** Every role that a mark names. */
  readonly roles: readonly string[];
  /** Names of the members that are for some roles alone, `$` for the whole result. */
  readonly members: string[];
  /** Every marked place and the roles of its mark; undefined when there are too many to send. */
  readonly places: Redaction[] | undefined;
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
    members: protectedMembers(shape),
    places: markedPlaces(shape),
    redact: (result, role) => redact(shape, result, role),
    hiddenFrom: (role) => hiddenPlaces(shape, role),
  };
}

/** Libraries other than these have no marks; one that is written all the same would protect nothing. */
function readable(schema: Schema, where: string): [root: Part, dialect?: Dialect] {
  if (isZod4(schema)) return [schema, zod4Dialect(where)];
  if (isZod3(schema)) return [schema, zod3Dialect];
  if (isStandardSchema(schema) && holdsMark(schema))
    throw new DefinitionError(
      `${where}: "${MARK}" is read in schemas of zod and in raw JSON Schema. This schema is of ${schema["~standard"].vendor} by its "~standard" member, so its marks would protect nothing. Give the zod schema itself, or a JSON Schema without that member.`,
    );
  if (isStandardSchema(schema) || !isJsonObject(schema)) return [schema];
  const root = readRawSchema(schema, where);
  return [root, jsonSchemaDialect(root, where)];
}

function holdsMark(root: object): boolean {
  const seen = new Set<object>([root]);
  for (const part of seen) {
    if (Object.hasOwn(part, MARK)) return true;
    for (const [name, inner] of Object.entries(Object.getOwnPropertyDescriptors(part)))
      if (name !== "~standard" && typeof inner.value === "object" && inner.value !== null) seen.add(inner.value);
  }
  return false;
}
