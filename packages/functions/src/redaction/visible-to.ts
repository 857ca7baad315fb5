import { isJsonObject, rolesAllow } from "@patchbay/protocol";
import { z } from "zod";
import { checkRoles } from "../definition-checks.ts";
import { DefinitionError } from "../errors.ts";
import { MARK } from "./mark.ts";
import { isStandardSchema, isZod3, isZod4, type Schema, type Zod3Schema } from "../schema/schema.ts";

/**
 * Marks a part of an output schema: only these roles get it, for every other role (and for none) it is taken out of the result
 * before the result leaves this process. The mark stays on the schema when more is chained to it. Works with zod 4, zod 3 and
 * raw JSON Schema, where it is the keyword `x-visible-to`; throws DefinitionError for schemas of other libraries.
 *
 * ```ts
 * output: z.object({ title: z.string(), internalNote: visibleTo(z.string(), ["support"]) })
 * ```
 */
export function visibleTo<S extends Schema>(schema: S, roles: readonly string[]): S {
  const visible = checkMark(roles, "visibleTo");
  if (isZod4(schema)) return markZod4(schema, visible);
  if (isZod3(schema)) return markZod3(schema, visible);
  if (!isStandardSchema(schema) && isJsonObject(schema)) return { ...schema, [MARK]: both(visible, schema[MARK]) };
  throw new DefinitionError(
    "visibleTo marks schemas of zod 4, zod 3 and raw JSON Schema. Write this output with one of them.",
  );
}

/** The roles of a mark as an owner wrote it. */
export function checkMark(written: unknown, where: string): readonly string[] {
  const roles = checkRoles(written, where);
  if (roles === "everyone")
    throw new DefinitionError(`${where}: name the roles that may see it, or leave the mark out.`);
  return roles;
}

/** Refuses keywords that were meant as marks and are none: what they stand on would not be protected. */
export function refuseMisspelt(keywords: readonly string[], where: string): void {
  const misspelt = keywords.find((keyword) => keyword !== MARK && MISSPELT.test(keyword));
  if (misspelt !== undefined)
    throw new DefinitionError(`${where}: there is no keyword "${misspelt}"; a mark is "${MARK}".`);
}

const MISSPELT = /^(x[-_]?visible([-_]?(to|for))?|visible[-_]?(to|for))$/i;

/** What both of two marks let through: a part that is marked twice is for the roles that stand in each. */
export function both(roles: readonly string[], other: unknown): readonly string[] {
  return Array.isArray(other) ? roles.filter((role) => other.includes(role)) : roles;
}

/** True when the mark, where there is one, lets the role see. */
export function sees(mark: readonly string[] | undefined, role: string | undefined): boolean {
  return mark === undefined || rolesAllow([...mark], role);
}

/** In the definition, and not in zod's registry alone: `.min(1)` and the like copy the one and forget the other. */
function markZod4<S extends Schema>(schema: S, roles: readonly string[]): S {
  const known = schema as unknown as z.core.$ZodType;
  const marked = { [MARK]: both(roles, (known._zod.def as { [MARK]?: unknown })[MARK]) };
  const definition = z.core.util.mergeDefs(known._zod.def, marked) as z.core.$ZodTypeDef;
  return z.core.clone(known, definition, { parent: true }) as unknown as S;
}

function markZod3<S extends Zod3Schema>(schema: S, roles: readonly string[]): S {
  const { constructor: Kind, _def } = schema as unknown as { constructor: new (def: object) => S; _def: object };
  return new Kind({ ..._def, [MARK]: both(roles, (_def as { [MARK]?: unknown })[MARK]) });
}
