import { isoTime } from "@patchbay/kit";
import { actsAs, type FunctionManifest, type Inclusions } from "@patchbay/protocol";
import { roleOfColumn } from "@patchbay/access";
import type { AccessMatrix } from "@patchbay/protocol/console";
import { accessUse } from "@patchbay/server/accounts/access-use";
import { ownSets } from "@patchbay/server/accounts/admin-review";
import { functionSetOf, rolesOf } from "../functions/routes.ts";
import { type ConsoleDeps, type Handlers, paged } from "../handler.ts";

const SHOWN_DAYS = 30;
/** Function and role pairs with figures: about 240 KB in the response. */
const MOST_PAIRS = 3_000;
/** Characters for cases in the response. */
const MOST_CASE_UNITS = 120_000;
const UNITS_PER_VERDICT = 4;

const USE_DAYS = 90;
const DAY_MS = 86_400_000;
/** About 120 KB in the response. */
const MOST_RIGHTS = 500;
const USE_ORDER = { unused: 0, new: 1, used: 2 };

type Row = AccessMatrix["functions"][number];

type AccessDeps = Pick<ConsoleDeps, "store" | "queries" | "gateway" | "limits" | "adminOf">;

/** Which roles may call which function, by the set's role lists; the owner's `authorize` is not evaluated. */
export function accessRoutes({ store, queries, gateway, limits, adminOf }: AccessDeps) {
  return {
    async "GET /agents/:agent_id/access"({ agent, query }) {
      const set = await functionSetOf({ queries, gateway }, agent, query.manifestHash);
      const { manifestHash, manifest, connected } = set;
      const named = rolesOf(manifest, limits.rolesPerService);
      const roles = [null, ...named.roles];
      const now = await store.now();
      const called = await queries.access.callsByRole(agent, {
        range: { from: now - SHOWN_DAYS * DAY_MS, to: now + 1 },
        functions: manifest.functions.map(({ name }) => name),
        roles: named.roles,
        limit: MOST_PAIRS,
      });
      const indexes = new Map(roles.map((role, index) => [role, index]));
      const callsOf = Map.groupBy(called.items, ({ functionName }) => functionName);
      const cases = casesOf(manifest.functions, indexes);
      return {
        manifestHash,
        connected,
        roles,
        rolesOmitted: named.omitted,
        defaultRole: manifest.defaultRole ?? null,
        inclusions: inclusionsOf(named.roles, manifest.roleOptions, indexes),
        functions: manifest.functions.map((fn) => ({
          name: fn.name,
          effect: fn.effect,
          restrictedFields: fn.restrictedFields ?? [],
          roles: fn.roles === "everyone" ? fn.roles : indexesOf(fn.roles, indexes),
          conditional: fn.conditional,
          ...approvalOf(fn),
          cases: cases.listed.get(fn.name) ?? [],
          calls: (callsOf.get(fn.name) ?? []).flatMap(({ role, calls, denied, lastAt }) => {
            const index = indexes.get(role);
            return index === undefined ? [] : [{ role: index, calls, denied, lastAt: isoTime(lastAt) }];
          }),
        })),
        callsOmitted: called.cut,
        casesOmitted: cases.omitted,
        flowFaults: await queries.access.flowFaults(agent, ruledBy(manifest.functions), now - SHOWN_DAYS * DAY_MS),
      };
    },

    async "GET /agents/:agent_id/access/services"({ agent }) {
      const { services } = await gateway.serving(agent.agentId);
      return { services };
    },

    async "GET /agents/:agent_id/access/use"({ agent, query }) {
      const { agentId } = agent;
      const { manifestHash, manifest } = await functionSetOf({ queries, gateway }, agent, query.manifestHash);
      const since = (await store.now()) - (query.days ?? USE_DAYS) * DAY_MS;
      const { rights, refused, ...use } = await accessUse(store, { agentId, manifest, since });
      const counts = { used: 0, unused: 0, new: 0 };
      for (const { verdict } of rights) counts[verdict]++;
      return {
        manifestHash,
        since: use.since,
        until: use.until,
        counts,
        rights: rights.toSorted((a, b) => USE_ORDER[a.verdict] - USE_ORDER[b.verdict]).slice(0, MOST_RIGHTS),
        omitted: Math.max(0, rights.length - MOST_RIGHTS),
        denied: use.denied,
        refused: refused.allCalls,
      };
    },

    async "GET /agents/:agent_id/access/shadow"({ agent }) {
      return { shadow: await queries.access.shadow(agent) };
    },

    "GET /agents/:agent_id/access/review": ({ by, agent }) => adminOf(by.actorId).accessReview(agent.agentId),

    async "POST /agents/:agent_id/access/reviews"({ by, agent, body }) {
      const own = ownSets(await functionSetOf({ queries, gateway }, agent, body.manifestHash));
      const sets = own.map(({ manifestHash }) => manifestHash);
      await adminOf(by.actorId).signAccess(agent.agentId, { sets, days: body.days });
    },

    "GET /agents/:agent_id/access/widenings": ({ agent, query }) => queries.access.widened(agent, paged(query)),

    async "POST /agents/:agent_id/access/confirmations"({ by, agent, body }) {
      await adminOf(by.actorId).acceptAccess(agent.agentId, body.manifestHash);
    },
  } satisfies Handlers;
}

const ruledBy = (functions: readonly FunctionManifest[]): string[] =>
  functions.flatMap(({ name, flow }) => (flow?.mode && (flow.targets ?? flow.sends) ? [name] : []));

/** A function's approval as pages show it. */
export const approvalOf = ({ approval }: FunctionManifest): Pick<Row, "approval"> =>
  approval ? { approval: { by: approval.by, conditional: approval.conditional } } : {};

type Indexes = ReadonlyMap<string | null, number>;

const indexesOf = (roles: readonly string[], indexes: Indexes): number[] =>
  roles.flatMap((role) => indexes.get(role) ?? []);

const inclusionsOf = (roles: readonly string[], inclusions: Inclusions | undefined, indexes: Indexes) =>
  roles.flatMap((role) => {
    const includes = [...actsAs(role, inclusions)].filter((one) => one !== role);
    return includes.length === 0 ? [] : [{ role: indexes.get(role)!, includes: indexesOf(includes, indexes) }];
  });

/** Each function's cases, with the decided roles by verdict. */
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
