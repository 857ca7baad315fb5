import { sql } from "kysely";
import type { Engine } from "@patchbay/store/engine";
import { SERVICE_TOKEN_ID } from "@patchbay/store/accounts/service-tokens";

/**
 * Member names, agent names and labels of keys and tokens, by id: at most one query per table. Includes removed
 * members, deleted agents and revoked keys: their past actions remain visible. `unlabelled` names keys without a label
 * by their hints; otherwise they have no name.
 */
export async function namesOf(
  { db }: Engine,
  orgId: string,
  ids: readonly string[],
  unlabelled?: "hint",
): Promise<Map<string, string>> {
  const label = sql<string | null>`${sql.raw(unlabelled ? "coalesce(label, hint)" : "label")}`;
  const names = {
    members: sql<string | null>`coalesce(nullif(name, ''), email, id)`,
    agents: sql<string | null>`name`,
    service_tokens: label,
    credentials: label,
  };
  const reads = [...Map.groupBy(ids, tableOf)].map(([table, among]) =>
    db
      .selectFrom(table)
      .select(["id", names[table].as("name")])
      .where("org_id", "=", orgId)
      .where("id", "in", among)
      .execute(),
  );
  const rows = (await Promise.all(reads)).flat();
  return new Map(rows.flatMap(({ id, name }) => (name === null ? [] : [[id, name]])));
}

function tableOf(id: string) {
  if (id.startsWith("mem_")) return "members";
  if (id.startsWith("agt_")) return "agents";
  return id.startsWith(SERVICE_TOKEN_ID) ? "service_tokens" : "credentials";
}
