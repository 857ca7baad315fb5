import type { KeyedRequest, RequestKeyStore } from "@patchbay/engine/ports/store/request-keys";
import { fromJson, toJson } from "../columns.ts";
import type { Engine } from "../engine.ts";
import { ago } from "../moments.ts";
import { IDEMPOTENCY_MS } from "../runs/idempotency-keys.ts";

/** Implements `RequestKeyStore`. Run keys are in a separate table: they are stored with the run, in its transaction. */
export function requestKeyStore({ db, dialect }: Engine): RequestKeyStore {
  const { now } = dialect;
  const idOf = ({ orgId, actorId, key }: KeyedRequest) => ({ org_id: orgId, actor_id: actorId, key });
  return {
    async take(request) {
      const content = { body_hash: request.bodyHash, answer: null, created_at: now };
      const taken = await db
        .insertInto("request_keys")
        .values({ ...idOf(request), ...content })
        .onConflict((conflict) =>
          conflict
            .columns(["org_id", "actor_id", "key"])
            .doUpdateSet(content)
            .where("request_keys.created_at", "<=", ago({ dialect }, IDEMPOTENCY_MS)),
        )
        .returning("key")
        .executeTakeFirst();
      if (taken) return undefined;
      const earlier = await db
        .selectFrom("request_keys")
        .select(["body_hash", "answer"])
        .where((eb) => eb.and(idOf(request)))
        .executeTakeFirst();
      // The earlier request was refused since the insert: its key is free again.
      if (!earlier) return this.take(request);
      const sameBody = earlier.body_hash === request.bodyHash;
      return { sameBody, ...(earlier.answer !== null && { answer: fromJson(earlier.answer) }) };
    },

    async finish(request, answer) {
      await db
        .updateTable("request_keys")
        .set({ answer: toJson(answer) })
        .where((eb) => eb.and(idOf(request)))
        .execute();
    },

    async free(request) {
      await db
        .deleteFrom("request_keys")
        .where((eb) => eb.and(idOf(request)))
        .execute();
    },
  };
}
