import { sql } from "kysely";
import type { ClientToken, ClientTokenStore } from "../ports/client-tokens.ts";
import type { Credential } from "../ports/stores.ts";
import { fromJson, idBatches, withoutNulls, toJson } from "./columns.ts";
import { isValid, ofExistingAgents, toCredential, withTier } from "./credentials.ts";
import { type Engine, repeat } from "./engine.ts";
import { sharedRead } from "./shared-reads.ts";
import { statement } from "./statement.ts";
import { BATCH, inFull } from "./sweep/batches.ts";

/** Client tokens. Only hashes of them are stored. */
export function clientTokenStore(engine: Engine): ClientTokenStore<Credential> {
  const { db, dialect } = engine;
  const { now } = dialect;
  const byHash = sharedRead(
    statement((p: { hash: string }) =>
      withTier(engine)
        .innerJoin("client_tokens as token", "token.key_id", "credentials.id")
        .select(["token.id as token_id", "token.role", "token.context", "token.thread_key", "token.proven"])
        .where("token.hash", "=", p.hash)
        .where("token.expires_at", ">", now)
        .where(isValid(engine)),
    ),
  );
  return {
    async create({ tokenId, keyId, hash, role, context, threadKey, proven, lifeMs }) {
      const { expires_at } = await db
        .insertInto("client_tokens")
        .values((eb) => ({
          id: tokenId,
          org_id: eb.selectFrom("credentials").select("org_id").where("id", "=", keyId),
          key_id: keyId,
          hash,
          role,
          context: toJson(context),
          thread_key: threadKey ?? null,
          proven: proven ? toJson(proven) : null,
          created_at: now,
          expires_at: sql<number>`${now} + ${sql.lit(lifeMs)}`,
        }))
        .returning("expires_at")
        .executeTakeFirstOrThrow();
      return expires_at;
    },

    async find(hash) {
      const [row] = await byHash(engine, { hash });
      if (!row) return undefined;
      const { token_id: tokenId, role, context, thread_key: threadKey, proven } = row;
      const optional = withoutNulls({ threadKey, proven: proven === null ? null : fromJson(proven) });
      const token: ClientToken = { tokenId, role, context: fromJson(context), ...optional };
      return { token, key: toCredential(row) };
    },

    async valid(tokenIds) {
      const found = new Set<string>();
      for (const ids of idBatches(tokenIds)) {
        const rows = await ofExistingAgents(engine)
          .innerJoin("client_tokens as token", "token.key_id", "credentials.id")
          .select("token.id")
          .where("token.id", "in", ids)
          .where("token.expires_at", ">", now)
          .where(isValid(engine))
          .execute();
        for (const { id } of rows) found.add(id);
      }
      return found;
    },
  };
}

/** Deletes tokens that have expired. */
export async function sweepClientTokens(engine: Engine, signal: AbortSignal | undefined): Promise<void> {
  await inFull(BATCH, signal, async () => {
    const expired = engine.db
      .deleteFrom("client_tokens")
      .where("id", "in", (eb) =>
        eb
          .selectFrom("client_tokens as old")
          .select("old.id")
          .where("old.expires_at", "<=", engine.dialect.now)
          .orderBy("old.expires_at")
          .limit(BATCH),
      )
      .returning("id");
    return (await repeat(engine, () => expired.execute())).length;
  });
}
