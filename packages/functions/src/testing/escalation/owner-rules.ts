import type { FunctionManifest, JsonObject, JsonValue } from "@patchbay/protocol";
import type { FunctionDefinition } from "../../function.ts";
import { createParser, type Parse, type Parsed } from "../../schema/parser.ts";
import { substituteHandlers, type Service } from "../../service.ts";

/** A call as the owner's rules see it. */
export interface RuledCall {
  functionName: string;
  input: JsonValue;
  context: JsonObject;
}

export type Ruling = "permitted" | "roles" | "authorize" | "unusable";

/** Asks the owner's rules themselves (the list, the schemas, `authorize`), not the gate: what judges must not be what is judged. */
export interface OwnerRules {
  rule(call: RuledCall, role: string | undefined): Promise<Ruling>;
  isListed(functionName: string, role: string | undefined): boolean;
}

export function ownerRules(service: Service): OwnerRules {
  const definitions = new Map<string, FunctionDefinition<never>>();
  substituteHandlers(service, (definition) => {
    definitions.set(definition.manifest.name, definition);
    return definition.handler;
  });

  function isListed(functionName: string, role: string | undefined): boolean {
    const definition = definitions.get(functionName);
    return definition !== undefined && lists(definition.manifest, role);
  }

  return {
    isListed,
    async rule({ functionName, input, context }, role) {
      const definition = definitions.get(functionName);
      if (!definition || !lists(definition.manifest, role)) return "roles";
      const parsedContext = await parseContext(definition, context);
      const parsedInput = await definition.parseInput(input);
      if (!parsedContext.ok || !parsedInput.ok) return "unusable";
      if (!definition.authorize) return "permitted";
      const access = { role, context: parsedContext.value as never, input: parsedInput.value as never };
      return (await decide(() => definition.authorize!(access))) ? "permitted" : "authorize";
    },
  };
}

function lists({ roles }: FunctionManifest, role: string | undefined): boolean {
  return roles === "everyone" || (role !== undefined && roles.includes(role));
}

const contextParsers = new WeakMap<object, Parse>();

async function parseContext({ contextSchema }: FunctionDefinition<never>, context: JsonObject): Promise<Parsed> {
  if (contextSchema === undefined) return { ok: true, value: context };
  let parse = contextParsers.get(contextSchema);
  if (!parse) contextParsers.set(contextSchema, (parse = createParser(contextSchema, "input", "context")));
  return parse(context);
}

async function decide(authorize: () => unknown): Promise<boolean> {
  try {
    return (await authorize()) === true;
  } catch {
    return false;
  }
}
