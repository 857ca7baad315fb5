import { type CaseDecision, RANK } from "@patchbay/protocol";
import type { ShadowComparison } from "@patchbay/protocol/console";
import { fromJson, isoTime } from "../../store/columns.ts";
import type { Engine } from "../../store/engine.ts";

/** How the last candidate of an agent decided on its ended calls. Null before the first one. */
export async function shadowOf(
  { db, dialect }: Engine,
  orgId: string,
  agentId: string,
): Promise<ShadowComparison | null> {
  const shadow = await db
    .selectFrom("shadows")
    .selectAll()
    .select((eb) => eb.case().when("lease_until", ">", dialect.now).then(1).else(0).end().as("connected"))
    .where("org_id", "=", orgId)
    .where("agent_id", "=", agentId)
    .executeTakeFirst();
  if (!shadow) return null;
  const rows = await db
    .selectFrom("shadow_changes")
    .selectAll()
    .where("org_id", "=", orgId)
    .where("agent_id", "=", agentId)
    .orderBy("calls", "desc")
    .orderBy("function_name")
    .orderBy("role")
    .execute();
  const changes = rows.map(({ was, decision: is, ...row }) => ({
    kind: rankOf(is) > rankOf(was) ? ("allow" as const) : ("deny" as const),
    functionName: row.function_name,
    role: fromJson(row.role),
    was,
    is,
    calls: row.calls,
    runIds: fromJson(row.examples),
    lastAt: isoTime(row.last_at),
  }));
  return {
    service: shadow.service,
    manifestHash: shadow.manifest_hash,
    connected: shadow.connected === 1,
    since: isoTime(shadow.since),
    judged: shadow.judged,
    dropped: shadow.dropped,
    unanswered: shadow.unanswered,
    changes: changes.toSorted((a, b) => a.kind.localeCompare(b.kind)),
  };
}

/** The name of a decision begins with it: `denied (authorize)`. */
const rankOf = (decision: string): number => RANK[decision.split(" ")[0] as CaseDecision];
