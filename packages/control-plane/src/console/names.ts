import type { Engine } from "../store/engine.ts";

/** Names of members and labels of keys and tokens, by id. Removed members and revoked keys are included: what they did stays. */
export async function namesOf({ db }: Engine, orgId: string, ids: readonly string[]): Promise<Map<string, string>> {
  const isMember = (id: string): boolean => id.startsWith("mem_");
  const [memberIds, keyIds] = [ids.filter(isMember), ids.filter((id) => !isMember(id))];
  const [members, keys] = await Promise.all([
    memberIds.length === 0
      ? []
      : db
          .selectFrom("members")
          .select(["id", "name", "email"])
          .where("org_id", "=", orgId)
          .where("id", "in", memberIds)
          .execute(),
    keyIds.length === 0
      ? []
      : db
          .selectFrom("credentials")
          .select(["id", "label"])
          .where("org_id", "=", orgId)
          .where("id", "in", keyIds)
          .execute(),
  ]);
  return new Map([
    ...members.map(({ id, name, email }) => [id, name || (email ?? id)] as const),
    ...keys.flatMap(({ id, label }) => (label === null ? [] : [[id, label] as const])),
  ]);
}
