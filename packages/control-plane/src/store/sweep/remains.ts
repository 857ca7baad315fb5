import { WINDOW_MS } from "../rate-windows.ts";
import type { Engine } from "../schema.ts";
import { repeat } from "../transact.ts";
import { ago, BATCH, DAY_MS, forEachAgent, forEachOrg, inFull } from "./batches.ts";

/** Sessions of end users that were last seen more than `days` ago. */
export async function sweepSessions(engine: Engine, days: number, signal: AbortSignal | undefined): Promise<void> {
  const cutoff = ago(engine, days * DAY_MS);
  await inFull(BATCH, signal, async () => {
    const old = engine.db
      .deleteFrom("sessions")
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple("agent_id", "id"),
          "in",
          selectFrom("sessions as old")
            .select(["old.agent_id", "old.id"])
            .where("old.last_seen_at", "<", cutoff)
            .orderBy("old.last_seen_at")
            .limit(BATCH)
            .$asTuple("agent_id", "id"),
        ),
      )
      .where("last_seen_at", "<", cutoff)
      .returning("id");
    return (await repeat(engine, () => old.execute())).length;
  });
}

export async function sweepRuntimes(engine: Engine, days: number, signal: AbortSignal | undefined): Promise<void> {
  const cutoff = ago(engine, days * DAY_MS);
  await forEachAgent(engine, signal, ({ id }) =>
    inFull(BATCH, signal, async () => {
      const old = engine.db
        .deleteFrom("runtimes")
        .where("agent_id", "=", id)
        .where("instance_id", "in", (eb) =>
          eb
            .selectFrom("runtimes as old")
            .select("old.instance_id")
            .where("old.agent_id", "=", id)
            .where("old.last_seen_at", "<", cutoff)
            .limit(BATCH),
        )
        .where("last_seen_at", "<", cutoff)
        .returning("instance_id");
      return (await repeat(engine, () => old.execute())).length;
    }),
  );
}

/** Function sets that no run, runtime, deployment or audit entry names. An agent has some tens of sets. */
export async function sweepManifests(engine: Engine, days: number, signal: AbortSignal | undefined): Promise<void> {
  const cutoff = ago(engine, days * DAY_MS);
  await forEachAgent(engine, signal, async ({ id }) => {
    const old = engine.db.deleteFrom("manifests").where("agent_id", "=", id).where("created_at", "<", cutoff);
    const unused = (["runs", "runtimes", "function_sets", "audit"] as const).reduce(
      (query, table) =>
        query.where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom(table)
                .select(`${table}.agent_id`)
                .where(`${table}.agent_id`, "=", id)
                .whereRef(`${table}.manifest_hash`, "=", "manifests.hash")
                .where(`${table}.manifest_hash`, "is not", null),
            ),
          ),
        ),
      old,
    );
    await repeat(engine, () => unused.execute());
  });
}

/** Keys are valid for a day. */
export async function sweepIdempotencyKeys(engine: Engine, signal: AbortSignal | undefined): Promise<void> {
  const { db } = engine;
  const cutoff = ago(engine, DAY_MS);
  await inFull(BATCH, signal, async () => {
    const old = db
      .deleteFrom("idempotency_keys")
      .where("run_id", "in", (eb) =>
        eb
          .selectFrom("idempotency_keys as old")
          .select("old.run_id")
          .where("old.created_at", "<", cutoff)
          .orderBy("old.created_at")
          .limit(BATCH),
      )
      .where("created_at", "<", cutoff)
      .returning("run_id");
    return (await repeat(engine, () => old.execute())).length;
  });
}

/** Counts of queries by the minute. */
export async function sweepRateWindows(engine: Engine, signal: AbortSignal | undefined): Promise<void> {
  const cutoff = ago(engine, 2 * WINDOW_MS);
  await forEachOrg(engine, signal, (id) =>
    engine.db.deleteFrom("rate_windows").where("org_id", "=", id).where("window_start", "<", cutoff).execute(),
  );
}

/** Sessions and links of the console that have expired. Members and their limits bound how many there are. */
export async function sweepSignIn({ db, dialect }: Engine): Promise<void> {
  await db.deleteFrom("console_sessions").where("expires_at", "<=", dialect.now).execute();
  await db.deleteFrom("console_links").where("expires_at", "<=", dialect.now).execute();
}
