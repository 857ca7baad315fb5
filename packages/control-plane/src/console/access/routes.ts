import { type FunctionManifest, roleOfColumn } from "@patchbay/protocol";
import type { AccessMatrix } from "@patchbay/protocol/console";
import { functionSetOf, rolesOf } from "../functions/routes.ts";
import { type ConsoleDeps, type HandlersOf, paged } from "../handler.ts";
import type { RoleCalls } from "./queries.ts";

const SHOWN_MS = 30 * 86_400_000;
/** Pairs of a function and a role with figures: about 240 KB of the response. */
const MOST_PAIRS = 3_000;
/** Characters of the cases in the response. */
const MOST_CASE_UNITS = 120_000;
const UNITS_PER_VERDICT = 4;

type Row = AccessMatrix["functions"][number];

type AccessRoutes =
  | "GET /agents/:agent_id/access"
  | "GET /agents/:agent_id/access/services"
  | "GET /agents/:agent_id/access/shadow"
  | "GET /agents/:agent_id/access/widenings"
  | "POST /agents/:agent_id/access/confirmations";

type AccessDeps = Pick<ConsoleDeps, "store" | "queries" | "gateway" | "limits" | "adminOf">;

/** Who may call what by the role lists of the function set; `authorize` of the owner is not evaluated. */
export function accessRoutes({ store, queries, gateway, limits, adminOf }: AccessDeps): HandlersOf<AccessRoutes> {
  return {
    async "GET /agents/:agent_id/access"({ agent, query }) {
      const set = await functionSetOf({ queries, gateway }, agent, query.manifestHash);
      const { manifestHash, manifest, connected } = set;
      const named = rolesOf(manifest, limits.rolesPerService);
      const roles = [null, ...named.roles];
      const now = await store.now();
      const called = await queries.access.callsByRole(agent.orgId, agent.agentId, {
        range: { from: now - SHOWN_MS, to: now + 1 },
        functions: manifest.functions.map(({ name }) => name),
        roles: named.roles,
        limit: MOST_PAIRS,
      });
      const indexes = new Map(roles.map((role, index) => [role, index]));
      const callsOf = figuresOf(called.items, indexes);
      const cases = casesOf(manifest.functions, indexes);
      return {
        manifestHash,
        connected,
        roles,
        rolesOmitted: named.omitted,
        defaultRole: manifest.defaultRole ?? null,
        functions: manifest.functions.map((one) => ({
          name: one.name,
          effect: one.effect,
          restrictedFields: one.restrictedFields ?? [],
          roles: indexesOf(one.roles, indexes),
          conditional: one.conditional,
          cases: cases.listed.get(one.name) ?? [],
          calls: callsOf.get(one.name) ?? [],
        })),
        callsOmitted: called.cut,
        casesOmitted: cases.omitted,
      };
    },

    async "GET /agents/:agent_id/access/services"({ agent }) {
      const { services } = await gateway.serving(agent.agentId);
      return { services };
    },

    async "GET /agents/:agent_id/access/shadow"({ agent }) {
      return { shadow: await queries.access.shadow(agent.orgId, agent.agentId) };
    },

    "GET /agents/:agent_id/access/widenings": ({ agent, query }) =>
      queries.access.widened(agent.orgId, agent.agentId, paged(query)),

    async "POST /agents/:agent_id/access/confirmations"({ by, agent, body }) {
      await adminOf(by.actorId).acceptAccess(agent.agentId, body.manifestHash);
    },
  };
}

type Indexes = ReadonlyMap<string | null, number>;

function indexesOf(roles: FunctionManifest["roles"], indexes: Indexes): Row["roles"] {
  if (roles === "everyone") return roles;
  return roles.flatMap((role) => indexes.get(role) ?? []);
}

/** The cases of functions by function name, with the decided roles by verdict. */
function casesOf(functions: readonly FunctionManifest[], indexes: Indexes) {
  const listed = new Map<string, Row["cases"]>();
  let units = 0;
  let omitted = 0;
  for (const { name: functionName, cases = [] } of functions) {
    const some = cases.filter(({ name, verdicts }) => {
      units += name.length + UNITS_PER_VERDICT * Object.keys(verdicts).length;
      return units <= MOST_CASE_UNITS;
    });
    omitted += cases.length - some.length;
    listed.set(
      functionName,
      some.map(({ name, verdicts }) => {
        const decided = { allowed: [] as number[], approval: [] as number[], denied: [] as number[] };
        for (const [column, verdict] of Object.entries(verdicts)) {
          const index = indexes.get(roleOfColumn(column) ?? null);
          if (index !== undefined && Object.hasOwn(decided, verdict))
            decided[verdict as keyof typeof decided].push(index);
        }
        return { name, ...decided };
      }),
    );
  }
  return { listed, omitted };
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
