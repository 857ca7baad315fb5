import { sql } from "kysely";
import type { AccessChanges, Manifest } from "@patchbay/protocol";
import type { Widening } from "@patchbay/access";
import type { DeployedSet, PlacedSet, RuntimeStore, SetIdentity } from "@patchbay/engine/ports/store/stores";
import { insertAudit } from "../audit/audit.ts";
import { toJson } from "../columns.ts";
import { type Engine, transact } from "../engine.ts";
import { type FunctionSetRow, identityColumns, setColumns } from "../tables/schema.ts";
import { compareSet, connectedSets, newestSets, rankedSets, setsInUse, setsOf } from "./set-order.ts";
import { affects, is } from "../statement.ts";

/** Widenings stored with a set, and in its audit entry. */
const KEPT_WIDENINGS = 200;
const AUDITED_WIDENINGS = 50;
/**
 * Deployments kept per service, and sets kept per deployment. A runtime with an older one counts as new when it
 * reconnects. Named and unnamed deployments are counted separately: restarts of unnamed processes must not push out a
 * named deployment.
 */
const KEPT_SETS = 1_000;
/** Sets kept over all services, named and unnamed ones counted separately. */
const KEPT_IN_ALL = 10_000;

/** An agent's function sets, ordered within each service by when their deployment first connected. */
export function functionSetStore(engine: Engine) {
  const { db, dialect } = engine;
  /** Comparisons in progress. Many runtimes that start at once offer the same set, and need one comparison. */
  const comparing = new Map<string, Promise<Widening[]>>();

  /** A new set's widenings against the sets in use now. */
  async function compareWithUsed(agentId: string, hash: string, manifest: Manifest): Promise<Compared> {
    const inUse = await setsInUse(engine, agentId);
    const names = namesOf(inUse);
    const key = JSON.stringify([agentId, hash, names]);
    let widenings = comparing.get(key);
    if (!widenings) {
      widenings = compareSet(engine, agentId, inUse, manifest).finally(() => comparing.delete(key));
      comparing.set(key, widenings);
    }
    return { names, widenings: await widenings };
  }

  return {
    async noteSet(agentId, set, manifest, { keyId }) {
      for (;;) {
        const known = await findSet(engine, agentId, set);
        if (known) return { ...toSet(known), fresh: false };
        // Outside the transaction, for which others wait.
        const compared = await compareWithUsed(agentId, set.manifestHash, manifest);
        const noted = await addSet(engine, agentId, set, { compared, keyId });
        if (noted) return noted;
      }
    },

    async setOrder(agentId) {
      const newest = await newestSets(engine, agentId).selectAll().execute();
      const rows = [...newest, ...(await connectedSets(engine, agentId).execute())];
      const byPosition = new Map(rows.map((row) => [row.position, row]));
      return [...byPosition.values()].map((row): PlacedSet => ({
        ...identityColumns.recordOf(row),
        place: row.place,
        position: row.position,
        pending: row.confirmation === "pending",
      }));
    },

    async functionSets(agentId) {
      const rows = await setsOf(engine, agentId).orderBy("service").orderBy("place").orderBy("position").execute();
      const counts = new Map<string, number>();
      return rows.map((row) => {
        const position = (counts.get(row.service) ?? 0) + 1;
        counts.set(row.service, position);
        return { ...toSet(row), position };
      });
    },

    confirmSet(agentId, manifestHash, { by }) {
      const pending = { agent_id: agentId, confirmation: "pending", manifest_hash: manifestHash } as const;
      const confirmed = { confirmation: "confirmed", confirmed_by: by, confirmed_at: dialect.now } as const;
      return affects(engine, db.updateTable("function_sets").set(confirmed).where(is(pending)));
    },
  } satisfies Partial<RuntimeStore>;
}

/**
 * The row for an already stored set. An unnamed deployment has one current set: a runtime that returns to an earlier
 * set is stored again, as a new one.
 */
async function findSet(engine: Engine, agentId: string, set: SetIdentity): Promise<FunctionSetRow | undefined> {
  const rows = await ofDeployment(engine, agentId, set).orderBy("position", "desc").execute();
  const placed = set.named ? rows : rows.slice(0, 1);
  return placed.find((row) => row.manifest_hash === set.manifestHash);
}

const ofDeployment = (engine: Engine, agentId: string, { service, deployment, named }: SetIdentity) =>
  setsOf(engine, agentId).where(is({ service, named: named ? 1 : 0, deployment }));

/** What identifies the function sets in use. */
const namesOf = (rows: readonly FunctionSetRow[]): string =>
  JSON.stringify(rows.map((row) => JSON.stringify([row.service, row.manifest_hash])).sort());

interface Compared {
  /** Of the sets that it was compared with. */
  names: string;
  widenings: Widening[];
}

/** Stores a set, unless it is already stored. Undefined if it was compared with other sets than those in use. */
function addSet(
  engine: Engine,
  agentId: string,
  set: SetIdentity,
  { compared, keyId }: { compared: Compared; keyId: string },
): Promise<Awaited<ReturnType<RuntimeStore["noteSet"]>> | undefined> {
  // `nextPosition` locks the agent's row: replicas that store sets at the same time agree on their order.
  return transact(engine, async (trx) => {
    const counted = await nextPosition(trx, agentId);
    const stored = await findSet(trx, agentId, set);
    if (stored) return { ...toSet(stored), fresh: false };
    const inUse = await setsInUse(trx, agentId);
    if (namesOf(inUse) !== compared.names) return undefined;
    const placed = toSet(await placeSet(trx, { agentId, ...counted, inUse }, set, compared.widenings));
    await deleteSurplus(trx, agentId, counted.position);
    if (placed.widenings.length > 0) await insertAudit(trx, [widened(agentId, counted.orgId, keyId, placed)]);
    return { ...placed, fresh: true };
  });
}

/** A new set's place in the order. */
interface Placing {
  position: number;
  orgId: string;
  accessChanges: AccessChanges;
  inUse: readonly FunctionSetRow[];
}

/**
 * Increments the agent's position counter. The update locks the agent's row until the transaction ends, so that
 * positions are unique and in commit order.
 */
async function nextPosition({ db }: Engine, agentId: string): Promise<Omit<Placing, "inUse">> {
  const agent = await db
    .updateTable("agents")
    .set((eb) => ({ last_set_position: eb("last_set_position", "+", 1) }))
    .where("id", "=", agentId)
    .returning(["last_set_position as position", "org_id as orgId", "access_changes as accessChanges"])
    .executeTakeFirstOrThrow();
  return agent;
}

/**
 * Stores a set and decides whether it serves. A set older than the one in use has no widenings, because it does not
 * replace it. A set that widens access waits for a confirmation if the agent requires one.
 */
async function placeSet(
  trx: Engine,
  { agentId, position, orgId, accessChanges, inUse }: Placing & { agentId: string },
  set: SetIdentity,
  widenings: readonly Widening[],
): Promise<FunctionSetRow> {
  const older = set.named ? await ofDeployment(trx, agentId, set).select("place").executeTakeFirst() : undefined;
  const place = older?.place ?? position;
  const replaced = inUse.find(({ service }) => service === set.service);
  const isNewest = replaced === undefined || place >= replaced.place;
  const found = isNewest ? widenings : [];
  const placed = {
    org_id: orgId,
    place,
    position,
    first_seen_at: trx.dialect.now,
    replaces: isNewest ? (replaced?.manifest_hash ?? null) : null,
    widenings: toJson(found.slice(0, KEPT_WIDENINGS)),
    confirmation: found.length > 0 && accessChanges === "confirm" ? ("pending" as const) : ("none" as const),
    confirmed_by: null,
    confirmed_at: null,
  };
  return trx.db
    .insertInto("function_sets")
    .values({ agent_id: agentId, ...identityColumns.rowOf(set), ...placed })
    .onConflict((conflict) =>
      conflict.columns(["agent_id", "service", "named", "deployment", "manifest_hash"]).doUpdateSet(placed),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

function widened(agentId: string, orgId: string, keyId: string, set: Omit<DeployedSet, "position">) {
  const { service, deployment, manifestHash, replaces, confirmation } = set;
  const texts = set.widenings.slice(0, AUDITED_WIDENINGS).map(({ text }) => text);
  return {
    action: "access.widened",
    orgId,
    agentId,
    keyId,
    manifestHash,
    detail: {
      service,
      deployment,
      ...(replaces !== undefined && { replaces }),
      confirmation,
      widenings: texts,
      count: set.widenings.length,
    },
  };
}

/** Deletes surplus sets, but never a service's newest set or a connected runtime's set. */
async function deleteSurplus(trx: Engine, agentId: string, position: number): Promise<void> {
  if (position <= KEPT_SETS) return;
  const counted = rankedSets(trx, agentId).select([
    // Each unnamed set has its own place, so each one counts as a deployment.
    sql<number>`dense_rank() over (partition by service, named order by place desc)`.as("deployments"),
    sql<number>`row_number() over (partition by service, named, deployment order by position desc)`.as("sets"),
    sql<number>`row_number() over (partition by named order by position desc)`.as("in_all"),
  ]);
  const connected = trx.db.selectFrom(connectedSets(trx, agentId).as("connected")).select("connected.position");
  const old = await trx.db
    .selectFrom(counted.as("counted"))
    .select("position")
    .where((eb) =>
      eb.or([
        eb.and([eb("rank", ">", 1), eb.or([eb("deployments", ">", KEPT_SETS), eb("sets", ">", KEPT_SETS)])]),
        eb("in_all", ">", KEPT_IN_ALL),
      ]),
    )
    .where("position", "not in", connected)
    .limit(KEPT_IN_ALL)
    .execute();
  if (old.length === 0) return;
  // A separate statement: in a single one, Postgres could evaluate the ranks again for each deleted row.
  const positions = old.map((row) => row.position);
  await trx.db.deleteFrom("function_sets").where("agent_id", "=", agentId).where("position", "in", positions).execute();
}

export const toSet = (row: FunctionSetRow): Omit<DeployedSet, "position"> => setColumns.recordOf(row);
