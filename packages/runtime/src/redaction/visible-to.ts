import { isJsonObject } from "@patchbay/kit";
import { MARK } from "@patchbay/schema";
import { rolesAllow } from "@patchbay/protocol";
import { checkRoles } from "../definition-checks.ts";
import { DefinitionError } from "../errors.ts";
import { isStandardSchema, isZod3, isZod4, type Schema, type Zod3Schema } from "../schema/schema.ts";
import { both, withDefinition } from "../schema/zod4.ts";

/**
 * Restricts a part in an output schema to roles. For other roles, and without a role, it is removed from the result
 * before the result leaves this process. Chained methods keep the mark. Works with zod 4, zod 3 and raw JSON Schema,
 * where it is the keyword `x-visible-to`. Throws `DefinitionError` for schemas from other libraries.
 *
 * ```ts
 * output: z.object({ title: z.string(), internalNote: visibleTo(z.string(), ["support"]) })
 * ```
 */
export function visibleTo<S extends Schema>(schema: S, roles: readonly string[]): S {
  const visible = checkMark(roles, "visibleTo");
  return marked(schema, MARK, { in: "visibleTo", with: (before) => both(visible, before) });
}

/** A copy of a schema with a keyword that only this package reads. */
export function marked<S extends Schema>(
  schema: S,
  keyword: string,
  mark: { in: string; with: (before: unknown) => unknown },
): S {
  const added = (known: object) => ({ [keyword]: mark.with((known as Record<string, unknown>)[keyword]) });
  if (isZod4(schema)) return withDefinition(schema, added(schema._zod.def)) as S;
  if (isZod3(schema)) return markZod3(schema, added) as S;
  if (!isStandardSchema(schema) && isJsonObject(schema)) return { ...schema, ...added(schema) };
  throw new DefinitionError(
    `${mark.in}() accepts schemas of zod 4, zod 3 and raw JSON Schema. Write this output with one of them.`,
  );
}

/** Validates a mark's roles. */
export function checkMark(written: unknown, where: string): readonly string[] {
  const roles = checkRoles(written, where);
  if (roles === "everyone") throw new DefinitionError(`${where}: give a list of roles, or remove the mark.`);
  return roles;
}

/** Refuses misspelt marks, because they would have no effect. */
export function refuseMisspelt(keywords: readonly string[], where: string): void {
  const misspelt = keywords.find((keyword) => keyword !== MARK && MISSPELT.test(keyword));
  if (misspelt !== undefined)
    throw new DefinitionError(`${where}: unknown keyword "${misspelt}". The keyword of a mark is "${MARK}".`);
}

const MISSPELT = /^(x[-_]?visible([-_]?(to|for))?|visible[-_]?(to|for))$/i;

/** True if the mark allows the role, or if there is no mark. */
export function sees(mark: readonly string[] | undefined, role: string | undefined): boolean {
  return mark === undefined || rolesAllow([...mark], role);
}

function markZod3<S extends Zod3Schema>(schema: S, added: (known: object) => object): S {
  const { constructor: Kind, _def } = schema as unknown as { constructor: new (def: object) => S; _def: object };
  return new Kind({ ..._def, ...added(_def) });
}
