import { CALLER, type FunctionManifest, rolesOf as rolesNamed } from "@patchbay/protocol";
import { type JsonObject, type JsonValue, oncePer } from "@patchbay/kit";
import type { FunctionDefinition } from "@patchbay/runtime/function";
import { createParser } from "@patchbay/runtime/schema/parser";
import type { Parsed, Schema } from "@patchbay/runtime/schema/schema";
import { type Service, substituteHandlers } from "@patchbay/runtime/service";
import { roleName } from "./report.ts";
import { sample } from "./sample.ts";

/** A role that is tried. Both undefined: a query without a role, in a service without a default role. */
export interface TriedRole {
  /** The role that the query states. */
  stated: string | undefined;
  /** The role that the query has: the stated one, else the service's default role. */
  effective: string | undefined;
}

/** A call with its query's context. */
export interface Target {
  functionName: string;
  input: JsonValue;
  context: JsonObject;
}

/** The calls that the suite tries as one role, by the decision of the owner's rules. */
export interface Targets {
  permitted: Target[];
  /** Refused by the role list: the function does not exist for the role. */
  hidden: Target[];
  /** Refused by the owner's `authorize`. */
  refused: Target[];
}

/** Every role that the service, a function or a mark names, and no role. */
export function rolesOf({ manifest, access }: Service): TriedRole[] {
  const marked = [...access.values()].flatMap(({ protection }) => protection?.roles ?? []);
  const named = new Set([...rolesNamed(manifest), ...marked]);
  return [
    ...[...named].map((role) => ({ stated: role, effective: role })),
    { stated: undefined, effective: manifest.defaultRole },
  ];
}

/** Sorts the declared cases and generated calls by the decision of the owner's rules. */
export async function targetsOf(
  service: Service,
  role: TriedRole,
  { rules, context, notes }: { rules: OwnerRules; context: JsonObject; notes: Set<string> },
): Promise<Targets> {
  const targets: Targets = { permitted: [], hidden: [], refused: [] };
  for (const definition of service.manifest.functions) {
    const { calls, declared } = callsOf(service, definition, role, context);
    if (!rules.isListed(definition.name, role.effective)) {
      targets.hidden.push({ ...calls[0]!, context });
      continue;
    }
    const rulings = new Set<Ruling>();
    for (const call of calls) {
      const ruling = await rules.rule(call, role.effective);
      rulings.add(ruling);
      if (ruling === "permitted" && role.effective === undefined && isConfirmedByCaller(definition))
        notes.add(
          `${definition.name}: only the caller confirms it, and a query without a role has no caller that could.`,
        );
      else if (ruling === "permitted") targets.permitted.push(call);
      else if (ruling === "authorize") targets.refused.push(call);
      else
        notes.add(`${definition.name}: its schemas accept no call that the suite can generate. Declare a case for it.`);
    }
    if (!declared && rulings.has("authorize") && !rulings.has("permitted"))
      notes.add(
        `${definition.name}: authorize refused each call as ${roleName(role.effective)}, so no attack reached its handler and its results. Declare a case that this role may call.`,
      );
  }
  return targets;
}

const isConfirmedByCaller = ({ approval }: FunctionManifest) =>
  approval !== undefined && approval.by.every((role) => role === CALLER);

/** The cases for this role, else those for other roles, else examples or one generated call. `declared`: the cases are for this role. */
function callsOf(
  service: Service,
  { name, inputSchema, examples = [] }: FunctionManifest,
  role: TriedRole,
  context: JsonObject,
): { calls: Target[]; declared: boolean } {
  const cases = [...(service.access.get(name)?.cases.values() ?? [])];
  const forRole = cases.filter(
    ({ roles }) => roles === undefined || (role.effective !== undefined && roles.includes(role.effective)),
  );
  const chosen = forRole.length > 0 ? forRole : cases;
  const declared = forRole.length > 0;
  if (chosen.length > 0)
    return { calls: chosen.map(({ input, context }) => ({ functionName: name, input, context })), declared };
  const made = sample(inputSchema, { variant: 0, full: false, examples: true, text: () => "text", number: () => 1 });
  const inputs: readonly JsonValue[] = examples.length > 0 ? examples : [made];
  return { calls: inputs.map((input) => ({ functionName: name, input, context })), declared };
}

type Ruling = "permitted" | "roles" | "authorize" | "unusable";

/** Evaluates the owner's role lists, schemas and `authorize` without the gate, because the gate is what the suite judges. */
export interface OwnerRules {
  rule(call: Target, role: string | undefined): Promise<Ruling>;
  /** True if a person must approve a call that the rules permit. */
  needsApproval(call: Target, role: string | undefined): Promise<boolean>;
  isListed(functionName: string, role: string | undefined): boolean;
}

export function ownerRules(service: Service): OwnerRules {
  const definitions = new Map<string, FunctionDefinition<never>>();
  substituteHandlers(service, (definition) => {
    definitions.set(definition.manifest.name, definition);
    return definition.handler;
  });

  function isListed(functionName: string, role: string | undefined): boolean {
    const roles = definitions.get(functionName)?.manifest.roles;
    // Not `rolesAllow`: the gate uses it.
    return roles === "everyone" || (role !== undefined && roles?.includes(role) === true);
  }

  /** What `authorize` and `when` receive. Undefined if the schemas refuse the call. */
  async function accessOf(definition: FunctionDefinition<never>, { input, context }: Target, role: string | undefined) {
    const parsedContext = await parseContext(definition, context);
    const parsedInput = await definition.parseInput(input);
    if (!parsedContext.ok || !parsedInput.ok) return undefined;
    return { role, caller: undefined, context: parsedContext.value as never, input: parsedInput.value as never };
  }

  return {
    isListed,
    async rule(call, role) {
      const definition = definitions.get(call.functionName);
      if (!definition || !isListed(call.functionName, role)) return "roles";
      const access = await accessOf(definition, call, role);
      if (!access) return "unusable";
      if (!definition.authorize) return "permitted";
      return (await decisionOf(() => definition.authorize!(access))) === true ? "permitted" : "authorize";
    },
    async needsApproval(call, role) {
      const { manifest, needsApproval } = definitions.get(call.functionName) ?? {};
      if (manifest?.approval === undefined) return false;
      if (needsApproval === undefined) return true;
      const access = await accessOf(definitions.get(call.functionName)!, call, role);
      return access === undefined || (await decisionOf(() => needsApproval(access))) !== false;
    },
  };
}

const contextParser = oncePer((schema: Schema) => createParser(schema, "input", "context"));

async function parseContext({ contextSchema }: FunctionDefinition<never>, context: JsonObject): Promise<Parsed> {
  return contextSchema === undefined ? { ok: true, value: context } : contextParser(contextSchema)(context);
}

/** What the owner's function decides. Undefined if it throws. */
async function decisionOf(decide: () => unknown): Promise<unknown> {
  try {
    return await decide();
  } catch {
    return undefined;
  }
}
