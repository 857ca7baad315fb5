import { expressionBuilder } from "kysely";
import type { NewRun } from "@patchbay/engine/ports/store/run-store";
import type { Engine } from "../engine.ts";
import { ago } from "../moments.ts";
import type { Schema } from "../tables/schema.ts";
import { is } from "../statement.ts";

export const IDEMPOTENCY_MS = 24 * 3_600_000;

/** Inserts the key, or replaces an expired one. Returns the run that has the key, if any. */
export async function takeIdempotencyKey(
  { db, dialect }: Engine,
  run: NewRun,
  { key, bodyHash }: NonNullable<NewRun["idempotency"]>,
): Promise<{ runId: string; sameBody: boolean } | undefined> {
  const { now } = dialect;
  const content = { run_id: run.runId, body_hash: bodyHash, created_at: now };
  const taken = await db
    .insertInto("idempotency_keys")
    .values({ agent_id: run.agentId, scope: scopeOf(run.keyId), key, ...content })
    .onConflict((conflict) =>
      conflict
        .columns(["agent_id", "scope", "key"])
        .doUpdateSet(content)
        .where("idempotency_keys.created_at", "<=", ago({ dialect }, IDEMPOTENCY_MS)),
    )
    .returning("run_id")
    .executeTakeFirst();
  if (taken) return undefined;
  // The conflicting insert has locked the existing row, so the row cannot be deleted before this read.
  const owner = await db
    .selectFrom("idempotency_keys")
    .select(["run_id", "body_hash"])
    .where(is({ agent_id: run.agentId, scope: scopeOf(run.keyId), key }))
    .executeTakeFirstOrThrow();
  return { runId: owner.run_id, sameBody: owner.body_hash === bodyHash };
}

/** The key, unless it has expired. */
export function liveKey({ db, dialect }: Engine, { agentId, keyId }: Pick<NewRun, "agentId" | "keyId">, key: string) {
  return db
    .selectFrom("idempotency_keys")
    .select(["run_id", "body_hash"])
    .where(is({ agent_id: agentId, scope: scopeOf(keyId), key }))
    .where("created_at", ">", ago({ dialect }, IDEMPOTENCY_MS))
    .executeTakeFirst();
}

/** An idempotency key's scope: the credential's lineage, or the member's id for queries from the console. */
function scopeOf(keyId: string) {
  const eb = expressionBuilder<Schema>();
  const lineage = eb
    .selectFrom("credentials")
    .select((of) => of.fn.coalesce("lineage", "id").as("scope"))
    .where("id", "=", keyId);
  return eb.fn.coalesce(lineage, eb.val(keyId));
}
