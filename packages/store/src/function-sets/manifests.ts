import { createHash } from "node:crypto";
import { canonicalJson } from "@patchbay/kit";
import { sql, type SqlBool } from "kysely";
import type { RuntimeStore } from "@patchbay/engine/ports/store/stores";
import { insertAudit } from "../audit/audit.ts";
import { excluded, fromJson, toJson } from "../columns.ts";
import { connectedNow } from "./connected.ts";
import { ago } from "../moments.ts";
import { newestSets } from "./set-order.ts";
import { type Engine, repeat, transact } from "../engine.ts";
import { is } from "../statement.ts";

const MINUTE_MS = 60_000;

/** Function set manifests, stored once per agent and hash. */
export function manifestStore(engine: Engine) {
  const { now } = engine.dialect;
  return {
    async saveManifest(agentId, manifestHash, manifest, { cases = [], lock } = {}) {
      const before = lock && (await stored(engine, "access_lock", agentId, manifestHash))?.access_lock;
      const isNewLock = lock !== undefined && before !== toJson(lock);
      const saved = (trx: Engine) =>
        trx.db
          .insertInto("manifests")
          .values((eb) => ({
            agent_id: agentId,
            hash: manifestHash,
            org_id: eb.selectFrom("agents").select("org_id").where("id", "=", agentId),
            body: toJson(manifest),
            reported_cases: cases.length > 0 ? toJson([...cases]) : null,
            access_lock: lock === undefined ? null : toJson(lock),
            lock_since: lock === undefined ? null : now,
            created_at: now,
            first_seen_at: now,
          }))
          .onConflict((conflict) =>
            conflict
              .columns(["agent_id", "hash"])
              // `trimManifests` deletes the oldest first. Renewing the time protects a set that a runtime offers again
              // until its connection is stored, which then refers to the set. The cases, their verdicts and the lock are
              // not part of the hash; the newest runtime's are kept.
              .doUpdateSet({
                ...excluded("created_at", "body", "reported_cases", "access_lock"),
                lock_since: sql`case when manifests.access_lock = excluded.access_lock then manifests.lock_since
                else excluded.lock_since end`,
              })
              .where(({ eb, or }) =>
                or([
                  eb("manifests.created_at", "<", ago(engine, MINUTE_MS)),
                  eb("manifests.body", "<>", eb.ref("excluded.body")),
                  eb("manifests.reported_cases", "is distinct from", eb.ref("excluded.reported_cases")),
                  eb("manifests.access_lock", "is distinct from", eb.ref("excluded.access_lock")),
                ]),
              ),
          )
          .returning("org_id")
          .executeTakeFirst();
      if (!isNewLock) return void (await saved(engine));
      await transact(engine, async (trx) => {
        const orgId = (await saved(trx))?.org_id;
        // Another replica has just stored the same lock.
        if (orgId === undefined) return;
        const detail = { lock: hashOf(lock) };
        await insertAudit(trx, [{ orgId, agentId, action: "access.locked", manifestHash, detail }]);
      });
    },

    async getManifest(agentId, manifestHash) {
      const row = await stored(engine, "body", agentId, manifestHash);
      return row && fromJson(row.body);
    },

    async lockHash(agentId, manifestHash) {
      const row = await stored(engine, "access_lock", agentId, manifestHash);
      return row?.access_lock ? hashOf(fromJson(row.access_lock)) : null;
    },

    trimManifests: (agentId, keep) => trimManifests(engine, agentId, keep),
  } satisfies Partial<RuntimeStore>;
}

const stored = <Column extends "body" | "access_lock">({ db }: Engine, column: Column, agentId: string, hash: string) =>
  db
    .selectFrom("manifests")
    .select(column)
    .where(is({ agent_id: agentId, hash }))
    .executeTakeFirst();

async function trimManifests(engine: Engine, agentId: string, keep: number): Promise<number> {
  const { db } = engine;
  const { count } = await db
    .selectFrom("manifests")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("agent_id", "=", agentId)
    .executeTakeFirstOrThrow();
  if (count <= keep) return 0;
  const surplus = idleSets(engine, agentId)
    .select("manifests.hash")
    .orderBy(importance(engine, agentId))
    .orderBy("manifests.created_at")
    .limit(count - keep);
  const deleted = db
    .deleteFrom("manifests")
    .where("agent_id", "=", agentId)
    .where("hash", "in", surplus)
    .returning("hash");
  return (await repeat(engine, () => deleted.execute())).length;
}

const hashOf = (lock: Readonly<Record<string, unknown>>): string =>
  createHash("sha256").update(canonicalJson(lock)).digest("hex");

/** Sets that no connected runtime and no open run uses. */
const idleSets = (engine: Engine, agentId: string) =>
  engine.db
    .selectFrom("manifests")
    .where("manifests.agent_id", "=", agentId)
    .where("manifests.hash", "not in", (eb) =>
      eb
        .selectFrom("runtimes")
        .select("runtimes.manifest_hash")
        .where("runtimes.agent_id", "=", agentId)
        .where(connectedNow(engine, "runtimes")),
    )
    .where("manifests.hash", "not in", (eb) =>
      eb
        .selectFrom("runs")
        .select("runs.manifest_hash")
        .$narrowType<{ manifest_hash: string }>()
        .where("runs.agent_id", "=", agentId)
        .where("runs.finished_at", "is", null)
        .where("runs.manifest_hash", "is not", null),
    );

/**
 * 2: its service's newest set, with which the next one is compared. 1: a past run, runtime or audit entry refers to the
 * set, or it was offered within the last minute, so that a run may start with it. 0: nothing refers to the set.
 */
const importance = (engine: Engine, agentId: string) => sql<number>`case
  when manifests.hash in (${newestSets(engine, agentId).select("manifest_hash")}) then 2
  when manifests.created_at > ${ago(engine, MINUTE_MS)} then 1
  when ${namedIn("runs")} or ${namedIn("runtimes")} or ${namedIn("audit")} then 1
  else 0 end`;

/** True when a row in the table refers to the manifest. */
export const namedIn = (
  table: "runs" | "runtimes" | "function_sets" | "audit",
) => sql<SqlBool>`exists (select 1 from ${sql.table(table)}
  where ${sql.ref(`${table}.agent_id`)} = manifests.agent_id
  and ${sql.ref(`${table}.manifest_hash`)} = manifests.hash
  and ${sql.ref(`${table}.manifest_hash`)} is not null)`;
