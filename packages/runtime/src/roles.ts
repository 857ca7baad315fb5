import { actsAs, type Inclusions, LIMITS, type Roles } from "@patchbay/protocol";
import { isJsonObject, present } from "@patchbay/kit";
import { checkRole, checkRoles, refuseUnknownOptions } from "./definition-checks.ts";
import { DefinitionError } from "./errors.ts";

/** What a service says about one of its roles. */
export interface RoleDefinition {
  /** Roles whose access the role also has, and what these include in turn. Default: none. */
  readonly includes?: readonly string[];
  /** For people: who has the role, in 1 to 200 characters. */
  readonly description?: string;
}

/** A service's roles by name. */
export type RoleDefinitions<Role extends string = string> = Readonly<Record<Role, RoleDefinition>>;

/** All roles of a service: a list, or with what the service says about them. */
export type ServiceRoles<Role extends string = string> = readonly Role[] | RoleDefinitions<Role>;

const ROLE_OPTIONS = ["includes", "description"];

/** A service's `roles`: their names, and their options if it has some. Throws `DefinitionError` for a mistake in them. */
export function readRoles(roles: unknown, where: string): { names?: string[]; options?: Inclusions } {
  if (roles === undefined) return {};
  if (!isJsonObject(roles)) return { names: namesOf(checkRoles(roles, where), where) };
  const names = namesOf(checkRoles(Object.keys(roles), where), where);
  const options = Object.fromEntries(names.map((name) => [name, readRole(roles[name], name, { names, where })]));
  for (const [name, { includes = [] }] of Object.entries(options))
    for (const other of includes)
      if (actsAs(other, options).has(name))
        throw new DefinitionError(
          other === name
            ? `${where}: role "${name}" includes itself.`
            : `${where}: roles "${name}" and "${other}" include each other. Remove one inclusion.`,
        );
  return { names, ...(Object.values(options).some((one) => Object.keys(one).length > 0) && { options }) };
}

function namesOf(roles: Roles, where: string): string[] {
  if (roles === "everyone") throw new DefinitionError(`${where}: roles must be a list of all roles.`);
  return roles;
}

function readRole(declared: unknown, name: string, { names, where }: { names: readonly string[]; where: string }) {
  const of = `${where}: role "${name}"`;
  if (!isJsonObject(declared))
    throw new DefinitionError(`${of} must be an object with includes and description, or {}.`);
  refuseUnknownOptions(declared, ROLE_OPTIONS, of);
  const { includes, description } = declared;
  if (includes !== undefined && !Array.isArray(includes))
    throw new DefinitionError(`${of}: includes must be a list of roles, or absent.`);
  const included = includes?.map((role) => checkRole(role, of));
  const unknown = included?.find((role) => !names.includes(role));
  if (unknown !== undefined)
    throw new DefinitionError(`${of} includes "${unknown}", which is not among ${names.join(", ")}.`);
  const isFit = typeof description === "string" && description !== "" && description.length <= LIMITS.labelUnits;
  if (description !== undefined && !isFit)
    throw new DefinitionError(`${of}: description must have 1 to ${LIMITS.labelUnits} characters, or be absent.`);
  return present({ includes: included && [...new Set(included)], description });
}
