import { LIMITS, wireName } from "@patchbay/protocol";
import { DefinitionError } from "./errors.ts";
import { type FlowOptions, withFlows } from "./flow/options.ts";
import type { FunctionDefinition } from "./function.ts";
import { defaultLog } from "./log.ts";
import type { Schema } from "./schema/schema.ts";

interface InService {
  flows: FlowOptions | undefined;
  where: string;
}

/** A service's functions by name, with the service's data-flow mode. Throws `DefinitionError` for a mistake. */
export function indexFunctions(
  definitions: readonly FunctionDefinition<never>[],
  { context, flows, withheld, where }: { context: Schema | undefined; withheld: boolean } & InService,
): Map<string, FunctionDefinition<never>> {
  if (definitions.length > LIMITS.functionsPerService)
    throw new DefinitionError(
      `${where}: ${definitions.length} functions exceed the limit of ${LIMITS.functionsPerService}. Split the service into two agents.`,
    );
  const byName = new Map<string, FunctionDefinition<never>>();
  for (const [i, definition] of definitions.entries()) {
    // Undefined if two modules import each other.
    const name = (definition as Partial<FunctionDefinition<never>> | undefined)?.manifest?.name;
    if (name === undefined)
      throw new DefinitionError(`${where}: functions[${i}] was not returned by defineFunction().`);
    if (byName.has(name)) throw new DefinitionError(`${where}: two functions are named "${name}".`);
    if (definition.contextSchema !== undefined && definition.contextSchema !== context)
      throw new DefinitionError(
        `${where}: function "${name}" was defined for another context. Give the service the schema that functionsFor() received.`,
      );
    const ruled = withFlows(definition.manifest, flows, where);
    const manifest = withheld ? { ...ruled, flow: { ...ruled.flow, withheld } } : ruled;
    byName.set(name, manifest === definition.manifest ? definition : Object.freeze({ ...definition, manifest }));
  }
  return byName;
}

/** One function then gets a number after its name, which may change with the service's functions. */
export function warnOfSharedNames(names: readonly string[], service: string): void {
  for (const [name, functions = []] of Object.entries(Object.groupBy(names, wireName)))
    if (functions.length > 1)
      defaultLog().warn("functions have the same name for models and MCP clients; rename all but one of them", {
        service,
        functions: functions.join(", "),
        name,
      });
}
