import { type FunctionManifest, type JsonObject, oncePer, outputSchemaFor, present } from "@patchbay/protocol";
import type { Tool } from "@modelcontextprotocol/server";
import { wireNames } from "../../../models/wire-names.ts";
import { wireSchema } from "../../../models/wire-schema.ts";
import type { RoleFunctions } from "../../../run/api.ts";

/** The functions of a role as tools of MCP. */
export interface RoleTools {
  /** What a client lists: all but the deprecated functions. */
  readonly list: readonly Tool[];
  /** The function of a tool, deprecated ones included. Clients may also call a function by its own name. */
  functionOf(tool: string): FunctionManifest | undefined;
  /** The schema that the list has for the results of the tool. */
  outputSchemaOf(tool: string): JsonObject | undefined;
}

/** Upper limit on the roles of a function set whose tools are kept: clients may state any text. */
const MOST_ROLES = 100;
const rolesOf = oncePer((_manifest: RoleFunctions["manifest"]) => new Map<string | undefined, RoleTools>());

/** The tools of a role, made once for each function set and role. */
export function toolsOf(of: RoleFunctions): RoleTools {
  const byRole = rolesOf(of.manifest);
  let tools = byRole.get(of.role);
  if (!tools) {
    if (byRole.size >= MOST_ROLES) byRole.clear();
    byRole.set(of.role, (tools = makeTools(of)));
  }
  return tools;
}

function makeTools({ functions, role }: RoleFunctions): RoleTools {
  const names = wireNames(functions);
  const byTool = new Map(functions.map((one) => [names.toWire(one.name), one]));
  const list = functions
    .filter(({ deprecated }) => deprecated === undefined)
    .map((one) => toolOf(one, names.toWire(one.name), role))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const schemas = new Map(list.map(({ name, outputSchema }) => [name, outputSchema as JsonObject | undefined]));
  return {
    list,
    functionOf: (tool) => byTool.get(names.echoed(tool)),
    outputSchemaOf: (tool) => schemas.get(names.echoed(tool)),
  };
}

function toolOf(one: FunctionManifest, name: string, role: string | undefined): Tool {
  const { title, description, effect, idempotent, openWorld = false } = one;
  const writes = effect !== "read";
  return {
    name,
    description,
    inputSchema: wireSchema(one.inputSchema) as Tool["inputSchema"],
    ...present({ title, outputSchema: outputSchemaFor(one, role) }),
    annotations: {
      ...present({ title }),
      readOnlyHint: !writes,
      ...(writes && { destructiveHint: effect === "destructive", idempotentHint: idempotent }),
      openWorldHint: openWorld,
    },
  };
}
