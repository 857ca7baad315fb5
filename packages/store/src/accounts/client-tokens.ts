import { CLIENT_DOORS_BY_DEFAULT } from "@patchbay/protocol";
import { callerIdsOf } from "@patchbay/engine/ports/callers";
import type { ClientToken, ClientTokenStore } from "@patchbay/engine/ports/store/client-tokens";
import type { Credential } from "@patchbay/engine/ports/store/stores";
import { fromJson, inBatches, withoutNulls, toJson } from "../columns.ts";
import { isValid, ofExistingAgents, toCredential, withTier } from "./credentials.ts";
import type { Engine } from "../engine.ts";
import { inMs } from "../moments.ts";
import type { Schema } from "../tables/schema.ts";
import { sharedRead } from "../shared-reads.ts";
import { statement } from "../statement.ts";

/** Client tokens. Only their hashes are stored. */
export function clientTokenStore(engine: Engine): ClientTokenStore<Credential> {
  const { db, dialect } = engine;
  const { now } = dialect;
  const byHash = sharedRead(
    statement((p: { hash: string }) =>
      withTier(engine)
        .innerJoin("client_tokens as token", "token.key_id", "credentials.id")
        .select(["token.id as token_id", "token.role", "token.context", "token.thread_key", "token.proven"])
        .select(["token.allow", "token.reasoning"])
        .where("token.hash", "=", p.hash)
        .where("token.expires_at", ">", now)
        .where(isValid(engine)),
    ),
  );
  return {
    async create({ tokenId, keyId, hash, role, context, allow, reasoning, threadKey, proven, lifeMs }) {
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
          allow: toJson([...allow]),
          reasoning: reasoning ? 1 : 0,
          created_at: now,
          expires_at: inMs(engine, lifeMs),
        }))
        .returning("expires_at")
        .executeTakeFirstOrThrow();
      return expires_at;
    },

    async find(hash) {
      const [row] = await byHash(engine, { hash });
      if (!row) return undefined;
      const { token_id: tokenId, role, context, thread_key: threadKey, proven } = row;
      const optional = withoutNulls({ threadKey, proven: proven === null ? null : callerIn(proven) });
      const token: ClientToken = {
        tokenId,
        role,
        context: fromJson(context),
        allow: row.allow === null ? CLIENT_DOORS_BY_DEFAULT : fromJson(row.allow),
        ...(row.reasoning === 1 && { reasoning: true }),
        ...optional,
      };
      return { token, key: toCredential(row) };
    },

    async valid(tokenIds) {
      const valid = ofExistingAgents(engine)
        .innerJoin("client_tokens as token", "token.key_id", "credentials.id")
        .select("token.id")
        .where("token.expires_at", ">", now)
        .where(isValid(engine));
      const rows = await inBatches(tokenIds, (ids) => valid.where("token.id", "in", ids).execute());
      return new Set(rows.map(({ id }) => id));
    },
  };
}

function callerIn(stored: NonNullable<Schema["client_tokens"]["proven"]>): NonNullable<ClientToken["proven"]> {
  const { subject, ids = callerIdsOf({ subject }), ...more } = fromJson(stored);
  return { subject, ids, ...more };
}
