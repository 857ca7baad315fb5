import { COMPARISON_STEPS } from "@patchbay/schema";
import { type FunctionManifest } from "@patchbay/protocol";
import { type JsonObject, oncePer, present, type Steps } from "@patchbay/kit";
import { outputSchemaFor } from "@patchbay/access";
import type { Tool } from "@modelcontextprotocol/server";
import { wireNames } from "@patchbay/models/wire-names";
import { wireSchema } from "@patchbay/models/wire-schema";
import type { RoleFunctions } from "@patchbay/engine/run/api";

/** A role's functions as MCP tools. */
export type RoleTools = ReturnType<typeof makeTools>;

/** Maximum number of roles per function set whose tools are kept: clients may state any text. */
const MOST_ROLES = 100;
const rolesOf = oncePer((_manifest: RoleFunctions["manifest"]) => new Map<string | undefined, RoleTools>());

/** A role's tools, created once per function set and role. */
export function toolsOf(of: RoleFunctions): RoleTools {
  const byRole = rolesOf(of.manifest);
  let tools = byRole.get(of.role);
  if (!tools) {
    if (byRole.size >= MOST_ROLES) byRole.clear();
    byRole.set(of.role, (tools = makeTools(of)));
  }
  return tools;
}

function makeTools({ functions, role }: RoleFunctions) {
  const names = wireNames(functions);
  const byTool = new Map(functions.map((fn) => [names.toWire(fn.name), fn]));
  // All functions share these steps: the owner controls the schemas, but all tenants share the process.
  const steps = { left: COMPARISON_STEPS };
  const list = functions
    .filter(({ deprecated }) => deprecated === undefined)
    .map((fn) => toolOf(fn, names.toWire(fn.name), role, steps))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const schemas = new Map(list.map(({ name, outputSchema }) => [name, outputSchema as JsonObject | undefined]));
  return {
    /** What a client lists: all functions except deprecated ones. */
    list,
    /** The tool's function, deprecated ones included. Clients may also call a function by its own name. */
    functionOf: (tool: string) => byTool.get(names.echoed(tool)),
    /** The listed result schema of the tool. */
    outputSchemaOf: (tool: string) => schemas.get(names.echoed(tool)),
  };
}

function toolOf(fn: FunctionManifest, name: string, role: string | undefined, steps: Steps): Tool {
  const { title, description, effect, idempotent, openWorld = false, flow } = fn;
  const writes = effect !== "read";
  return {
    name,
    description,
    inputSchema: wireSchema(fn.inputSchema) as Tool["inputSchema"],
    // A client compares results with the schema, and gets none that is withheld.
    ...present({ title, outputSchema: flow?.withheld ? undefined : outputSchemaFor(fn, role, steps) }),
    annotations: {
      ...present({ title }),
      readOnlyHint: !writes,
      ...(writes && { destructiveHint: effect === "destructive", idempotentHint: idempotent }),
      openWorldHint: openWorld,
    },
  };
}
