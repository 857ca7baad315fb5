import type { Engine } from "../store/engine.ts";
import { SERVICE_TOKEN_ID } from "../store/service-tokens.ts";

/**
 * Names of members and agents, and labels of keys, tokens and service tokens, by id: at most one query for each table. Removed
 * members, deleted agents and revoked keys are included: what they did stays.
 */
export async function namesOf({ db }: Engine, orgId: string, ids: readonly string[]): Promise<Map<string, string>> {
  const byTable = Map.groupBy(ids, tableOf);
  const among = (table: Table) => byTable.get(table) ?? [];
  const labels = (table: "credentials" | "service_tokens") =>
    among(table).length === 0
      ? []
      : db
          .selectFrom(table)
          .select(["id", "label as name"])
          .where("org_id", "=", orgId)
          .where("id", "in", among(table))
          .execute();
  const [members, agents, tokens, keys] = await Promise.all([
    among("members").length === 0
      ? []
      : db
          .selectFrom("members")
          .select(["id", "name", "email"])
          .where("org_id", "=", orgId)
          .where("id", "in", among("members"))
          .execute(),
    among("agents").length === 0
      ? []
      : db
          .selectFrom("agents")
          .select(["id", "name"])
          .where("org_id", "=", orgId)
          .where("id", "in", among("agents"))
          .execute(),
    labels("service_tokens"),
    labels("credentials"),
  ]);
  return new Map([
    ...members.map(({ id, name, email }) => [id, name || (email ?? id)] as const),
    ...[...agents, ...tokens, ...keys].flatMap(({ id, name }) => (name === null ? [] : [[id, name] as const])),
  ]);
}

type Table = "members" | "agents" | "service_tokens" | "credentials";

function tableOf(id: string): Table {
  if (id.startsWith("mem_")) return "members";
  if (id.startsWith("agt_")) return "agents";
  return id.startsWith(SERVICE_TOKEN_ID) ? "service_tokens" : "credentials";
}
