import { fromJson } from "../columns.ts";
import type { Engine } from "../engine.ts";
import { ago } from "../moments.ts";
import { is } from "../statement.ts";
import type { CredentialRow, ServiceTokenRow } from "../tables/credentials.ts";

type Table = "credentials" | "service_tokens";

/**
 * True if the holder of this key, member or service token may also be the holder of the one that asked for the
 * approval: the same one, one of its rotations, another with a common creator, or a creator itself. A creator has seen
 * the secret, and so has each who rotated it.
 */
export async function haveSameHolder(
  engine: Engine,
  keyId: string,
  { requestedBy, runId }: { requestedBy: string; runId: string },
): Promise<boolean> {
  const own = await holdersOf(engine, [keyId]);
  const asked = await holdersOf(engine, [requestedBy, ...(await sendersOf(engine, runId))]);
  return !own.isDisjointFrom(asked);
}

/** The senders of the query and its retries: each had the call made. */
async function sendersOf({ db }: Engine, runId: string): Promise<string[]> {
  const run = await db.selectFrom("runs").select(["key_id", "request"]).where("id", "=", runId).executeTakeFirst();
  if (!run) return [];
  const { continues = [] } = fromJson(run.request).retryOf ?? {};
  const before =
    continues.length === 0 ? [] : await db.selectFrom("runs").select("key_id").where("id", "in", continues).execute();
  return [run, ...before].map(({ key_id }) => key_id);
}

/** These ids, the first credentials in their rotations, and all their direct and indirect creators. */
async function holdersOf(engine: Engine, ids: readonly string[]): Promise<Set<string>> {
  const holders = new Set<string>();
  for (let next = [...ids]; next.length > 0; next = next.filter((id) => !holders.has(id))) {
    for (const id of next) holders.add(id);
    const found = [
      ...(await rotationsOf(engine, "credentials", next)),
      ...(await rotationsOf(engine, "service_tokens", next)),
    ];
    next = found.flatMap(({ lineage, created_by }) => (created_by === null ? [lineage] : [lineage, created_by]));
  }
  return holders;
}

/** Every credential in the same rotation chains. */
function rotationsOf({ db }: Engine, table: Table, ids: readonly string[]) {
  return db
    .selectFrom(table)
    .select((eb) => [eb.fn.coalesce("lineage", "id").as("lineage"), "created_by"])
    .where(
      (eb) => eb.fn.coalesce("lineage", "id"),
      "in",
      (eb) =>
        eb
          .selectFrom(table)
          .select((own) => own.fn.coalesce("lineage", "id").as("lineage"))
          .where("id", "in", ids),
    )
    .execute();
}

/** The members and service tokens that created or rotated each lineage's credentials, oldest first. */
export async function makersOf({ db }: Engine, lineages: readonly string[]): Promise<Map<string, string[]>> {
  if (lineages.length === 0) return new Map();
  const rows = await db
    .selectFrom("credentials")
    .select((eb) => [eb.fn.coalesce("lineage", "id").as("lineage"), "created_by"])
    .where((eb) => eb.fn.coalesce("lineage", "id"), "in", lineages)
    .where("created_by", "is not", null)
    .$narrowType<{ created_by: string }>()
    .orderBy("created_at")
    .orderBy("id")
    .execute();
  const byLineage = Map.groupBy(rows, ({ lineage }) => lineage);
  return new Map([...byLineage].map(([lineage, made]) => [lineage, [...new Set(made.map((one) => one.created_by))]]));
}

const TOUCH_MS = 60_000;

/** Stores that the secret is used now, at most once a minute. */
export async function touch({ db, dialect }: Engine, table: Table, id: string): Promise<void> {
  await db
    .updateTable(table)
    .set({ last_used_at: dialect.now })
    .where("id", "=", id)
    .where((eb) => eb.or([eb("last_used_at", "is", null), eb("last_used_at", "<=", ago({ dialect }, TOUCH_MS))]))
    .execute();
}

/** A stored secret, and the time at which it was read. */
type Old = Pick<CredentialRow | ServiceTokenRow, "id" | "created_at" | "expires_at" | "lineage"> & { now: number };

/**
 * Ends a secret that is replaced by a new one after `overlapMs`, or at its own end if that is earlier. The new one lives
 * as long as the old one did. Skips a secret that was revoked since it was read: the overlap must not make it valid
 * again. Returns the columns of the new one besides its own.
 */
export async function replace(
  trx: Engine,
  table: Table,
  { now, ...old }: Old,
  { overlapMs, createdBy }: { overlapMs: number; createdBy: string | undefined },
) {
  const last = await endOfMaker(trx, createdBy);
  const oldEndsAt = earliest(now + overlapMs, old.expires_at, last)!;
  await trx.db
    .updateTable(table)
    .set(overlapMs === 0 ? { revoked_at: now } : { expires_at: oldEndsAt })
    .where(is({ id: old.id, revoked_at: null }))
    .execute();
  const expires_at = earliest(old.expires_at && now + old.expires_at - old.created_at, last);
  // Idempotency keys belong to the lineage: a client that repeats a query with its new key must not start a second run.
  const ofNew = { created_at: now, last_used_at: null, lineage: lineageIn(old), created_by: createdBy ?? null };
  return { oldEndsAt, expires_at, row: { ...ofNew, expires_at } };
}

export const lineageIn = ({ lineage, id }: Pick<CredentialRow, "lineage" | "id">): string => lineage ?? id;

/** When a credential ends: at the earliest time given; null for never. */
export function earliest(...ends: (number | null | undefined)[]): number | null {
  const end = Math.min(...ends.map((one) => one ?? Infinity));
  return end === Infinity ? null : end;
}

/** When the creator, if it is a service token, expires: nothing that it creates outlives it. Otherwise null. */
export async function endOfMaker({ db }: Engine, createdBy: string | undefined): Promise<number | null> {
  if (createdBy === undefined) return null;
  const token = await db
    .selectFrom("service_tokens")
    .select("expires_at")
    .where("id", "=", createdBy)
    .executeTakeFirst();
  return token?.expires_at ?? null;
}
