import { balanceOf } from "../../store/credits.ts";
import type { Engine } from "../../store/engine.ts";

/** Figures of the organisation itself. */
export function organisationQueries({ db }: Engine) {
  return {
    /** Deleted agents and removed members are not counted. */
    async figures(orgId: string) {
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
    },
  };
}
