import { present } from "@patchbay/kit";
import { type Inclusions, LIMITS, wireName, withIncluding } from "@patchbay/protocol";
import { mapSchema, MARK } from "@patchbay/schema";
import { DefinitionError } from "./errors.ts";
import { type FlowOptions, withFlows } from "./flow/options.ts";
import type { FunctionDefinition } from "./function.ts";
import { defaultLog } from "./log.ts";
import { createProtection } from "./redaction/protection.ts";
import type { Schema } from "./schema/schema.ts";

interface InService {
  flows: FlowOptions | undefined;
  inclusions: Inclusions | undefined;
  where: string;
}

/** A service's functions by name, with the service's data-flow mode and inclusions. Throws `DefinitionError` for a mistake. */
export function indexFunctions(
  definitions: readonly FunctionDefinition<never>[],
  { context, flows, inclusions, withheld, where }: { context: Schema | undefined; withheld: boolean } & InService,
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
    const own = manifest === definition.manifest ? definition : Object.freeze({ ...definition, manifest });
    byName.set(name, withInclusions(own, inclusions, where));
  }
  return byName;
}

/**
 * A function in a service whose roles include others: each of its role lists also names the roles that include one of the
 * listed. So code that checks a list, such as an earlier control plane, needs to know no inclusions.
 */
function withInclusions(
  definition: FunctionDefinition<never>,
  inclusions: Inclusions | undefined,
  where: string,
): FunctionDefinition<never> {
  if (!inclusions) return definition;
  const { manifest, output, cases } = definition;
  const { roles, approval, flow, outputSchema } = manifest;
  const all = (listed: readonly string[]): string[] => withIncluding(listed, inclusions);
  const protection = output && createProtection(output, `${where}: function "${manifest.name}"`, all);
  const marked = (schema: NonNullable<typeof outputSchema>) =>
    mapSchema(schema, (of) => (Array.isArray(of[MARK]) ? { ...of, [MARK]: all(of[MARK] as string[]) } : of));
  const lists = present({
    approval: approval && { ...approval, by: all(approval.by) },
    flow: flow?.by && { ...flow, by: all(flow.by) },
    redactions: protection?.redactions,
    outputSchema: outputSchema && marked(outputSchema),
  });
  return Object.freeze({
    ...definition,
    protection,
    cases: new Map([...cases].map(([name, one]) => [name, { ...one, roles: one.roles && all(one.roles) }])),
    manifest: Object.freeze({ ...manifest, roles: roles === "everyone" ? roles : all(roles), ...lists }),
  });
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
