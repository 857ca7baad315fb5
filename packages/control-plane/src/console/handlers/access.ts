import type { FunctionManifest } from "@patchbay/protocol";
import type { AccessMatrix } from "@patchbay/protocol/console";
import type { RoleCalls } from "../../ports/console-agents.ts";
import type { ConsoleDeps } from "../deps.ts";
import { functionSetOf, rolesOf } from "../function-set.ts";
import type { HandlersOf } from "../handler.ts";
import { agentOf } from "./agent-of.ts";

const SHOWN_MS = 30 * 86_400_000;
/** Pairs of a function and a role with figures: about 240 KB of the answer. */
const MOST_PAIRS = 3_000;

type Row = AccessMatrix["functions"][number];

/** Who may call what, as the function set says: the owner's code is not asked. */
export function accessHandlers({
  store,
  gateway,
  limits,
}: Pick<ConsoleDeps, "store" | "gateway" | "limits">): HandlersOf<"GET /agents/:agent_id/access"> {
  return {
    async "GET /agents/:agent_id/access"({ by, params, query }) {
      const agent = await agentOf(store, by.orgId, params.agent_id);
      const { manifestHash, manifest, connected } = await functionSetOf({ store, gateway }, agent, query.manifestHash);
      const named = rolesOf(manifest, limits.rolesPerService);
      const roles = [null, ...named.roles];
      const now = await store.now();
      const asked = {
        range: { from: now - SHOWN_MS, to: now + 1 },
        functions: manifest.functions.map(({ name }) => name),
        roles: named.roles,
        limit: MOST_PAIRS,
      };
      const called = await store.console.functions.callsByRole(by.orgId, agent.agentId, asked);
      const indexes = new Map(roles.map((role, index) => [role, index]));
      const callsOf = figuresOf(called.items, indexes);
      return {
        manifestHash,
        connected,
        roles,
        rolesOmitted: named.omitted,
        defaultRole: manifest.defaultRole ?? null,
        functions: manifest.functions.map((one) => ({
          name: one.name,
          effect: one.effect,
          protectedMembers: one.protectedMembers ?? [],
          roles: indexesOf(one.roles, indexes),
          conditional: one.conditional,
          calls: callsOf.get(one.name) ?? [],
        })),
        callsOmitted: called.cut,
      };
    },
  };
}

type Indexes = ReadonlyMap<string | null, number>;

function indexesOf(roles: FunctionManifest["roles"], indexes: Indexes): Row["roles"] {
  if (roles === "everyone") return roles;
  return roles.flatMap((role) => indexes.get(role) ?? []);
}

function figuresOf(rows: readonly RoleCalls[], indexes: Indexes): Map<string, Row["calls"]> {
  const figures = new Map<string, Row["calls"]>();
  for (const { functionName, role, calls, denied, lastAt } of rows) {
    const index = indexes.get(role);
    if (index === undefined) continue;
    const row = figures.get(functionName) ?? [];
    row.push({ role: index, calls, denied, lastAt: new Date(lastAt).toISOString() });
    figures.set(functionName, row);
  }
  return figures;
}
