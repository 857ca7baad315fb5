import { sql } from "kysely";
import type { AccessChanges, Manifest } from "@patchbay/protocol";
import type { DeployedSet, PlacedSet, RuntimeStore, SetIdentity } from "../ports/stores.ts";
import { insertAudit } from "./audit.ts";
import { fromJson, withoutNulls, toJson } from "./columns.ts";
import { type Engine, transact } from "./engine.ts";
import type { FunctionSetRow } from "./schema.ts";
import { compareSet, connectedSets, newestSets, rankedSets, setsInUse, setsOf } from "./set-order.ts";

/** Widenings that are stored with a set, and in its audit entry. */
const KEPT_WIDENINGS = 200;
const AUDITED_WIDENINGS = 50;
/**
 * Deployments kept per service, and sets kept per deployment. A runtime with an older one counts as new when it reconnects.
 * Named and unnamed deployments are counted separately: restarts of unnamed processes must not push out a named deployment.
 */
const KEPT_SETS = 1_000;
/** Sets kept over all services, named and unnamed ones counted separately. */
const KEPT_IN_ALL = 10_000;

type SetMethod = "noteSet" | "setOrder" | "functionSets" | "confirmSet";

/** The function sets of an agent, ordered within each service by the first connection of their deployment. */
export function functionSetStore(engine: Engine): Pick<RuntimeStore, SetMethod> {
  const { db, dialect } = engine;
  return {
    async noteSet(agentId, set, manifest, { keyId }) {
      const known = await findSet(engine, agentId, set);
      if (known) return { ...toSet(known), fresh: false };
      // `nextPosition` locks the agent's row: replicas that store sets at the same time agree on their order.
      return transact(engine, async (trx) => {
        const counted = await nextPosition(trx, agentId);
        const stored = await findSet(trx, agentId, set);
        if (stored) return { ...toSet(stored), fresh: false };
        const placed = toSet(await placeSet(trx, { agentId, ...counted }, set, manifest));
        await deleteSurplus(trx, agentId, counted.position);
        if (placed.widenings.length > 0) await insertAudit(trx, [widened(agentId, counted.orgId, keyId, placed)]);
        return { ...placed, fresh: true };
      });
    },

    async setOrder(agentId) {
      const newest = await newestSets(engine, agentId).selectAll().execute();
      const rows = [...newest, ...(await connectedSets(engine, agentId).execute())];
      const byPosition = new Map(rows.map((row) => [row.position, row]));
      return [...byPosition.values()].map((row): PlacedSet => ({
        ...identityOf(row),
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

    async confirmSet(agentId, manifestHash, { by }) {
      const { numUpdatedRows } = await db
        .updateTable("function_sets")
        .set({ confirmation: "confirmed", confirmed_by: by, confirmed_at: dialect.now })
        .where("agent_id", "=", agentId)
        .where("confirmation", "=", "pending")
        .where("manifest_hash", "=", manifestHash)
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
  };
}

/**
 * The row of a set that was stored before. An unnamed deployment has one current set: a runtime that returns to an earlier set
 * is stored again, as a new one.
 */
async function findSet(engine: Engine, agentId: string, set: SetIdentity): Promise<FunctionSetRow | undefined> {
  const rows = await ofDeployment(engine, agentId, set).orderBy("position", "desc").execute();
  const placed = set.named ? rows : rows.slice(0, 1);
  return placed.find((row) => row.manifest_hash === set.manifestHash);
}

const ofDeployment = (engine: Engine, agentId: string, { service, deployment, named }: SetIdentity) =>
  setsOf(engine, agentId)
    .where("service", "=", service)
    .where("named", "=", named ? 1 : 0)
    .where("deployment", "=", deployment);

/** Where a new set goes in the order. */
interface Placing {
  position: number;
  orgId: string;
  accessChanges: AccessChanges;
}

/**
 * Counts the agent's positions up. The update locks the agent's row until the end of the transaction, so that positions are
 * unique and in the order of the commits.
 */
async function nextPosition({ db }: Engine, agentId: string): Promise<Placing> {
  const agent = await db
    .updateTable("agents")
    .set((eb) => ({ last_set_position: eb("last_set_position", "+", 1) }))
    .where("id", "=", agentId)
    .returning(["last_set_position as position", "org_id as orgId", "access_changes as accessChanges"])
    .executeTakeFirstOrThrow();
  return agent;
}

/**
 * Stores a set and decides whether it serves. A set that is older than the one in use is not compared: it does not replace it.
 * A set that widens access waits for a confirmation if the agent asks for one.
 */
async function placeSet(
  trx: Engine,
  { agentId, position, orgId, accessChanges }: Placing & { agentId: string },
  set: SetIdentity,
  manifest: Manifest,
): Promise<FunctionSetRow> {
  const older = set.named ? await ofDeployment(trx, agentId, set).select("place").executeTakeFirst() : undefined;
  const place = older?.place ?? position;
  const inUse = await setsInUse(trx, agentId);
  const replaced = inUse.find(({ service }) => service === set.service);
  const isNewest = replaced === undefined || place >= replaced.place;
  const found = isNewest ? await compareSet(trx, agentId, inUse, manifest) : [];
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
    .values({
      agent_id: agentId,
      service: set.service,
      deployment: set.deployment,
      named: set.named ? 1 : 0,
      manifest_hash: set.manifestHash,
      ...placed,
    })
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

/** Deletes surplus sets, never the newest set of a service nor the set of a connected runtime. */
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

function identityOf(row: FunctionSetRow): SetIdentity {
  return {
    service: row.service,
    deployment: row.deployment,
    named: row.named === 1,
    manifestHash: row.manifest_hash,
  };
}

export function toSet(row: FunctionSetRow): Omit<DeployedSet, "position"> {
  const { replaces, confirmed_by: confirmedBy, confirmed_at: confirmedAt, confirmation } = row;
  return {
    ...identityOf(row),
    firstSeenAt: row.first_seen_at,
    widenings: fromJson(row.widenings),
    confirmation,
    ...withoutNulls({ replaces, confirmedBy, confirmedAt }),
  };
}
