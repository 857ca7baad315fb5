import { sql } from "kysely";
import { balanceOf } from "@patchbay/store/runs/credits";
import type { Engine } from "@patchbay/store/engine";

/** Excludes deleted agents and removed members. */
export const organisationFigures = ({ db }: Engine, orgId: string) =>
  db
    .selectFrom("orgs")
    .where("orgs.id", "=", orgId)
    .select((eb) => [
      "orgs.created_at as createdAt",
      balanceOf(eb, orgId).as("balanceMicros"),
      countOf("agents", "deleted_at").as("agents"),
      countOf("members", "removed_at").as("members"),
    ])
    .executeTakeFirst();

/** SQL for the organisation's rows that have not ended. */
const countOf = (table: "agents" | "members", endedAt: "deleted_at" | "removed_at") =>
  sql<number>`(select count(*) from ${sql.table(table)} where org_id = orgs.id and ${sql.ref(endedAt)} is null)`;
