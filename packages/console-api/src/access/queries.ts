import { isoTime, isoTimeOrNull } from "@patchbay/kit";
import { RANK } from "@patchbay/access";
import type { CaseDecision, Manifest } from "@patchbay/protocol";
import type { ShadowComparison, WidenedSet } from "@patchbay/protocol/console";
import { type NotNull, sql, type SqlBool } from "kysely";
import { OPERATOR } from "@patchbay/server/accounts/admin-access";
import { fromJson } from "@patchbay/store/columns";
import type { Engine } from "@patchbay/store/engine";
import { toSet } from "@patchbay/store/function-sets/function-sets";
import { newestPage, type PageAsked, type PageOf } from "@patchbay/store/page-cursor";
import type { FunctionSetRow } from "@patchbay/store/tables/schema";
import { type AgentScope, onEngine } from "../lists.ts";
import { namesOf } from "../names.ts";
import { getOrCreate, type TimeRange } from "../analytics/time-range.ts";
import { callsOf, inParts } from "../functions/queries.ts";
import { is } from "@patchbay/store/statement";

const ORDER = { at: "sets.position", id: "sets.manifest_hash" } as const;
/** Calls that are read with their results. */
const FLOW_CALLS = 1_000;
/** Sentences listed per set: a large set may widen access in thousands of places. */
const LISTED = 50;

/** How a role called a function. */
export interface RoleCalls {
  functionName: string;
  role: string | null;
  /** Calls that passed all checks, with any outcome. */
  calls: number;
  denied: number;
  lastAt: number;
}

/** Which calls are counted, for at most `limit` pairs of function and role. */
export interface Pairs {
  range: TimeRange;
  functions: readonly string[];
  roles: readonly string[];
  limit: number;
}

/** Role usage, and function sets that widened access. */
export function accessQueries(engine: Engine) {
  return {
    locks: onEngine(engine, locksOf),
    shadow: onEngine(engine, shadowOf),

    /** The calls to these functions that data-flow rules did not allow, among the newest. Most first. */
    async flowFaults({ orgId, agentId }: AgentScope, functions: readonly string[], from: number) {
      if (functions.length === 0) return [];
      const rows = await engine.reads
        .selectFrom("calls")
        .select(["run_id as runId", "function_name as functionName", "outcome"])
        .where(is({ org_id: orgId, agent_id: agentId }))
        .where("function_name", "in", functions)
        .where("finished_at", ">=", from)
        .orderBy("finished_at", "desc")
        .limit(FLOW_CALLS)
        .execute();
      const faults = rows.flatMap(({ outcome, ...call }) => {
        const rule = outcome === null ? undefined : fromJson(outcome).flowFault?.rule;
        return rule === undefined ? [] : [{ ...call, rule }];
      });
      const kinds = Map.groupBy(faults, ({ functionName, rule }) => `${functionName} ${rule}`);
      const counts = [...kinds.values()].map((same) => ({ ...same[0]!, calls: same.length }));
      return counts.toSorted((a, b) => b.calls - a.calls);
    },

    /** Function sets that widened access, newest first, each from the deployment that registered it. */
    async widened({ orgId, agentId }: AgentScope, asked: PageAsked): Promise<PageOf<WidenedSet>> {
      const sets = engine.db
        .selectFrom("function_sets as sets")
        .selectAll("sets")
        .select((eb) => {
          const newer = eb
            .selectFrom("function_sets as newer")
            .select("newer.position")
            .whereRef("newer.agent_id", "=", "sets.agent_id")
            .whereRef("newer.service", "=", "sets.service")
            .where(sql<SqlBool>`(newer.place, newer.position) > (sets.place, sets.position)`);
          return eb.case().when(eb.exists(newer)).then(0).else(1).end().as("newest");
        })
        .where("sets.org_id", "=", orgId)
        .where("sets.agent_id", "=", agentId)
        .where("sets.widenings", "!=", "[]");
      const { items: rows, nextCursor } = await newestPage(sets, asked, ORDER);
      const names = await namesOf(engine, orgId, [...new Set(rows.flatMap((row) => row.confirmed_by ?? []))]);
      return { items: rows.map((row) => toWidenedSet(row, names)), nextCursor };
    },

    /**
     * Calls that ended in the range, by function and role, including queries without a role. `cut`: the limit was
     * reached; pairs with fewer calls may be missing or too low.
     */
    async callsByRole(
      scope: AgentScope,
      { range, functions, roles, limit }: Pairs,
    ): Promise<{ items: RoleCalls[]; cut: boolean }> {
      const pairs = new Map<string, RoleCalls>();
      let cut = false;
      if (functions.length === 0) return { items: [], cut };
      await inParts(range, async (part) => {
        const rows = await callsOf(engine, scope, part)
          .select((eb) => ["role", eb.fn.countAll<number>().as("count")])
          .where("function_name", "in", functions)
          .where((eb) => eb.or([eb("role", "is", null), ...(roles.length > 0 ? [eb("role", "in", roles)] : [])]))
          .groupBy(["function_name", "role", "state"])
          .orderBy("count", "desc")
          .limit(limit + 1)
          .execute();
        cut ||= rows.length > limit;
        for (const { function_name: functionName, role, state, count, last_at } of rows.slice(0, limit)) {
          const key = JSON.stringify([functionName, role]);
          const pair = getOrCreate(pairs, key, () => ({ functionName, role, calls: 0, denied: 0, lastAt: 0 }));
          pair[state === "denied" ? "denied" : "calls"] += count;
          pair.lastAt = Math.max(pair.lastAt, last_at);
        }
      });
      const most = [...pairs.values()].toSorted((a, b) => b.calls + b.denied - (a.calls + a.denied));
      return { items: most.slice(0, limit), cut: cut || most.length > limit };
    },
  };
}

/** The sets among these hashes for which the newest runtime reported a lock, in service order. */
async function locksOf(
  { db }: Engine,
  { orgId, agentId }: AgentScope,
  hashes: readonly string[],
): Promise<{ manifestHash: string; manifest: Manifest; lock: Readonly<Record<string, unknown>>; since: string }[]> {
  const rows = await db
    .selectFrom("manifests")
    .select(["hash", "body", "access_lock", "lock_since"])
    .$narrowType<{ access_lock: NotNull; lock_since: NotNull }>()
    .where(is({ org_id: orgId, agent_id: agentId }))
    .where("hash", "in", hashes)
    .where("access_lock", "is not", null)
    .execute();
  return rows
    .map((row) => ({
      manifestHash: row.hash,
      manifest: fromJson(row.body),
      lock: fromJson(row.access_lock),
      since: isoTime(row.lock_since),
    }))
    .toSorted((a, b) => a.manifest.name.localeCompare(b.manifest.name));
}

function toWidenedSet(row: FunctionSetRow & { newest: number }, names: ReadonlyMap<string, string>): WidenedSet {
  const { service, deployment, named, manifestHash, replaces, firstSeenAt, widenings, confirmation, ...set } =
    toSet(row);
  const { confirmed_by: by } = row;
  return {
    service,
    deployment,
    named,
    manifestHash,
    replaces: replaces ?? null,
    firstSeenAt: isoTime(firstSeenAt),
    widenings: widenings
      .slice(0, LISTED)
      .map(({ functionName, text }) => ({ functionName: functionName ?? null, text })),
    omitted: Math.max(0, widenings.length - LISTED),
    confirmation,
    newest: row.newest === 1,
    confirmedBy: by === null || by === OPERATOR ? null : (names.get(by) ?? by),
    confirmedAt: isoTimeOrNull(set.confirmedAt),
  };
}

/** How an agent's last candidate decided on its ended calls. Null before the first one. */
async function shadowOf({ db, dialect }: Engine, { orgId, agentId }: AgentScope): Promise<ShadowComparison | null> {
  const shadow = await db
    .selectFrom("shadows")
    .select(["service", "manifest_hash as manifestHash", "since", "judged", "dropped", "unanswered"])
    .select((eb) => eb.case().when("lease_until", ">", dialect.now).then(1).else(0).end().as("connected"))
    .where(is({ org_id: orgId, agent_id: agentId }))
    .executeTakeFirst();
  if (!shadow) return null;
  const rows = await db
    .selectFrom("shadow_changes")
    .select(["function_name as functionName", "role", "was", "decision as is", "calls", "examples", "last_at"])
    .where(is({ org_id: orgId, agent_id: agentId }))
    .orderBy("calls", "desc")
    .orderBy("function_name")
    .orderBy("role")
    .execute();
  const changes = rows.map(({ role, examples, last_at, ...change }) => ({
    kind: rankOf(change.is) > rankOf(change.was) ? ("allow" as const) : ("deny" as const),
    ...change,
    role: fromJson(role),
    runIds: fromJson(examples),
    lastAt: isoTime(last_at),
  }));
  return {
    ...shadow,
    connected: shadow.connected === 1,
    since: isoTime(shadow.since),
    changes: changes.toSorted((a, b) => a.kind.localeCompare(b.kind)),
  };
}

/** A decision starts with its name: `denied (authorize)`. */
const rankOf = (decision: string): number => RANK[decision.split(" ")[0] as CaseDecision];
