import { balanceOf } from "@patchbay/store/runs/credits";
import type { Engine } from "@patchbay/store/engine";

/** Excludes deleted agents and removed members. */
export async function organisationFigures({ db }: Engine, orgId: string) {
  const row = await db
    .selectFrom("orgs")
    .where("orgs.id", "=", orgId)
    .select("orgs.created_at")
    .select((eb) => [
      balanceOf(eb, orgId).as("balance_micros"),
      eb
        .selectFrom("agents")
        .select((count) => count.fn.countAll<number>().as("count"))
        .where("agents.org_id", "=", orgId)
        .where("agents.deleted_at", "is", null)
        .as("agents"),
      eb
        .selectFrom("members")
        .select((count) => count.fn.countAll<number>().as("count"))
        .where("members.org_id", "=", orgId)
        .where("members.removed_at", "is", null)
        .as("members"),
    ])
    .executeTakeFirst();
  return (
    row && {
      createdAt: row.created_at,
      balanceMicros: row.balance_micros,
      agents: Number(row.agents),
      members: Number(row.members),
    }
  );
}
