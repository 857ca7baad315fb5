import type { WidenedSet } from "@patchbay/protocol/console";
import { sql, type SqlBool } from "kysely";
import { OPERATOR } from "../../accounts/admin-access.ts";
import { isoTime } from "../../store/columns.ts";
import type { Engine } from "../../store/engine.ts";
import { toSet } from "../../store/function-sets.ts";
import { olderThan, pageFrom, type PageAsked, type PageOf } from "../../store/page-cursor.ts";
import type { FunctionSetRow } from "../../store/schema.ts";
import { namesOf } from "../names.ts";
import { locksOf } from "./lock-query.ts";
import { shadowOf } from "./shadow-query.ts";
import type { TimeRange } from "../analytics/time-range.ts";
import { callsOf, inParts } from "../functions/queries.ts";

const ORDER = { at: "sets.position", id: "sets.manifest_hash" };
/** Sentences listed per set: a large set may widen in thousands of places. */
const LISTED = 50;

/** How a role called a function. */
export interface RoleCalls {
  functionName: string;
  role: string | null;
  /** Calls that the checks allowed, with any outcome. */
  calls: number;
  denied: number;
  lastAt: number;
}

export interface Pairs {
  functions: readonly string[];
  roles: readonly string[];
  limit: number;
}

/** Who called what, and which function sets widened access. */
export function accessQueries(engine: Engine) {
  return {
    locks: (orgId: string, agentId: string, hashes: readonly string[]) => locksOf(engine, orgId, agentId, hashes),

    shadow: (orgId: string, agentId: string) => shadowOf(engine, orgId, agentId),

    /** Function sets that widened access, newest first, each as a deployment brought it. */
    async widened(orgId: string, agentId: string, { limit, cursor }: PageAsked): Promise<PageOf<WidenedSet>> {
      const rows = await engine.db
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
        .where("sets.widenings", "!=", "[]")
        .$if(cursor !== undefined, (narrowed) => narrowed.where(olderThan(cursor!, ORDER)))
        .orderBy("sets.position", "desc")
        .orderBy("sets.manifest_hash", "desc")
        .limit(limit + 1)
        .execute();
      const endOf = (row: (typeof rows)[number]) => ({ at: row.position, id: row.manifest_hash });
      const page = pageFrom(rows, { limit, floor: undefined, endOf });
      const names = await namesOf(engine, orgId, [...new Set(page.rows.flatMap((row) => row.confirmed_by ?? []))]);
      return { items: page.rows.map((row) => toWidenedSet(row, names)), nextCursor: page.nextCursor };
    },

    /**
     * Calls that ended in the range, of these functions by these roles and by queries without a role. `cut`: the limit was
     * reached; pairs with fewer calls may be missing or too low.
     */
    async callsByRole(
      orgId: string,
      agentId: string,
      { range, ...asked }: { range: TimeRange } & Pairs,
    ): Promise<{ items: RoleCalls[]; cut: boolean }> {
      const pairs = new Map<string, RoleCalls>();
      let cut = false;
      if (asked.functions.length === 0) return { items: [], cut };
      await inParts(range, async (part) => {
        const rows = await callsOfRoles(engine, orgId, agentId, part, asked);
        cut ||= rows.length > asked.limit;
        for (const { function_name: functionName, role, state, count, last_at } of rows.slice(0, asked.limit)) {
          const key = JSON.stringify([functionName, role]);
          const pair = pairs.get(key) ?? { functionName, role, calls: 0, denied: 0, lastAt: 0 };
          pair[state === "denied" ? "denied" : "calls"] += count;
          pair.lastAt = Math.max(pair.lastAt, last_at);
          pairs.set(key, pair);
        }
      });
      const most = [...pairs.values()].toSorted((a, b) => b.calls + b.denied - (a.calls + a.denied));
      return { items: most.slice(0, asked.limit), cut: cut || most.length > asked.limit };
    },
  };
}

/** The pairs with the most calls; one more than the limit shows that there are more. */
const callsOfRoles = (
  engine: Engine,
  orgId: string,
  agentId: string,
  part: TimeRange,
  { functions, roles, limit }: Pairs,
) =>
  callsOf(engine, orgId, agentId, part)
    .select("role")
    .where("function_name", "in", functions)
    .where((eb) => eb.or([eb("role", "is", null), ...(roles.length > 0 ? [eb("role", "in", roles)] : [])]))
    .groupBy(["function_name", "role", "state"])
    .orderBy("count", "desc")
    .limit(limit + 1)
    .execute();

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
    confirmedAt: set.confirmedAt === undefined ? null : isoTime(set.confirmedAt),
  };
}
