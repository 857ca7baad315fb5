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
  const byTable = Map.groupBy(ids, tableOf);
  const rowsOf = async <Row>(table: Table, read: (ids: string[]) => { execute(): Promise<Row[]> }): Promise<Row[]> => {
    const among = byTable.get(table);
    return among ? await read(among).execute() : [];
  };
  const labelled = (table: "credentials" | "service_tokens") =>
    rowsOf(table, (among) =>
      db.selectFrom(table).select(["id", "label", "hint"]).where("org_id", "=", orgId).where("id", "in", among),
    );
  const [members, agents, tokens, keys] = await Promise.all([
    rowsOf("members", (among) =>
      db.selectFrom("members").select(["id", "name", "email"]).where("org_id", "=", orgId).where("id", "in", among),
    ),
    rowsOf("agents", (among) =>
      db.selectFrom("agents").select(["id", "name"]).where("org_id", "=", orgId).where("id", "in", among),
    ),
    labelled("service_tokens"),
    labelled("credentials"),
  ]);
  const names: [id: string, name: string | null][] = [
    ...members.map(({ id, name, email }): [string, string] => [id, name || (email ?? id)]),
    ...agents.map(({ id, name }): [string, string] => [id, name]),
    ...[...tokens, ...keys].map(({ id, label, hint }): [string, string | null] => [
      id,
      label ?? (unlabelled ? hint : null),
    ]),
  ];
  return new Map(names.filter((named): named is [string, string] => named[1] !== null));
}

type Table = "members" | "agents" | "service_tokens" | "credentials";

function tableOf(id: string): Table {
  if (id.startsWith("mem_")) return "members";
  if (id.startsWith("agt_")) return "agents";
  return id.startsWith(SERVICE_TOKEN_ID) ? "service_tokens" : "credentials";
}
