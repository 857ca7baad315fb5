import type { Engine } from "../store/engine.ts";
import { SERVICE_TOKEN_ID } from "../store/service-tokens.ts";

/** Names of members and labels of keys, tokens and service tokens, by id. Removed members and revoked keys are included: what they did stays. */
export async function namesOf({ db }: Engine, orgId: string, ids: readonly string[]): Promise<Map<string, string>> {
  const isMember = (id: string): boolean => id.startsWith("mem_");
  const isToken = (id: string): boolean => id.startsWith(SERVICE_TOKEN_ID);
  const [memberIds, tokenIds] = [ids.filter(isMember), ids.filter(isToken)];
  const keyIds = ids.filter((id) => !isMember(id) && !isToken(id));
  const [members, tokens, keys] = await Promise.all([
    memberIds.length === 0
      ? []
      : db
          .selectFrom("members")
          .select(["id", "name", "email"])
          .where("org_id", "=", orgId)
          .where("id", "in", memberIds)
          .execute(),
    tokenIds.length === 0
      ? []
      : db
          .selectFrom("service_tokens")
          .select(["id", "label"])
          .where("org_id", "=", orgId)
          .where("id", "in", tokenIds)
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
    ...[...keys, ...tokens].flatMap(({ id, label }) => (label === null ? [] : [[id, label] as const])),
  ]);
}
