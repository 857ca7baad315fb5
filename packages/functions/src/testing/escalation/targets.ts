import type { FunctionManifest, JsonObject } from "@patchbay/protocol";
import type { Service } from "../../service.ts";
import type { OwnerRules, RuledCall, Ruling } from "./owner-rules.ts";
import { roleName } from "./report.ts";
import { sample } from "./sample.ts";

/** A role that is tried; both undefined = a query without one in a service without a default. */
export interface TriedRole {
  /** What the query says. */
  stated: string | undefined;
  /** What the query has: the service's default role where none is stated. */
  effective: string | undefined;
}

/** One call with the context of its query. */
export type Target = RuledCall;

/** What a role may call, and what it must not be able to. */
export interface Targets {
  permitted: Target[];
  /** Refused by the role list: to this role the function does not exist. */
  hidden: Target[];
  /** Refused by the owner's `authorize`. */
  refused: Target[];
}

/** Every role that the service or one of its functions names, and none. */
export function rolesOf({ manifest, access }: Service): TriedRole[] {
  const { roles = [], defaultRole, functions } = manifest;
  const listed = functions.flatMap((one) => (one.roles === "everyone" ? [] : one.roles));
  const marked = [...access.values()].flatMap(({ protection }) => protection?.roles ?? []);
  const named = new Set([...roles, ...(defaultRole === undefined ? [] : [defaultRole]), ...listed, ...marked]);
  return [
    ...[...named].map((role) => ({ stated: role, effective: role })),
    { stated: undefined, effective: defaultRole },
  ];
}

/** Sorts the declared cases and one made-up call of each function by what the owner's rules say of them. */
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
      if (ruling === "permitted") targets.permitted.push(call);
      else if (ruling === "authorize") targets.refused.push(call);
      else notes.add(`${definition.name}: no call could be made up that its schemas accept. Declare a case for it.`);
    }
    if (!declared && rulings.has("authorize") && !rulings.has("permitted"))
      notes.add(
        `${definition.name}: authorize refused each call under ${roleName(role.effective)}, so no attack reached its handler and its results. Declare a case that this role may make.`,
      );
  }
  return targets;
}

/** The cases for this role, those for others, then a made-up call; the latter only where there are no cases. `declared`: the owner says how the role calls. */
function callsOf(
  service: Service,
  { name, inputSchema }: FunctionManifest,
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
    return { calls: chosen.map((one) => ({ functionName: name, input: one.input, context: one.context })), declared };
  const input = sample(inputSchema, { variant: 0, full: false, text: () => "text", number: () => 1 });
  return { calls: [{ functionName: name, input, context }], declared };
}
