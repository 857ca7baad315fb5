import { sql } from "kysely";
import type { AccessChanges, Manifest } from "@patchbay/protocol";
import type { DeployedSet, PlacedSet, RuntimeStore, SetIdentity } from "../ports/stores.ts";
import { insertAudit } from "./audit.ts";
import { fromJson, present, toJson } from "./columns.ts";
import type { Engine, FunctionSetRow } from "./schema.ts";
import { compareSet } from "./set-comparison.ts";
import { transact } from "./transact.ts";

/** Widenings that are kept with a set, and in its entry of the audit log. */
const KEPT_WIDENINGS = 200;
const AUDITED_WIDENINGS = 50;
/**
 * Deployments of a service, and sets of a deployment, that are kept: a runtime of an older one counts as new when it comes back.
 * Named and unnamed deployments are counted apart, so that restarts of unnamed processes do not end the place of a name.
 */
const KEPT_SETS = 1_000;
/** Sets of all services, named and unnamed ones counted apart. */
const KEPT_IN_ALL = 10_000;

type SetMethod = "noteSet" | "setOrder" | "functionSets" | "confirmSet";

/** The order of an agent's function sets within each service: that of the first hellos of their deployments. */
export function functionSetStore(engine: Engine): Pick<RuntimeStore, SetMethod> {
  const { db, dialect } = engine;
  return {
    async noteSet(agentId, set, manifest, { keyId }) {
      const known = await findSet(engine, agentId, set);
      if (known) return { ...toSet(known), fresh: false };
      // The agent's row is locked from its counting on: replicas that note sets at the same time agree on their order.
      return transact(engine, async (trx) => {
        const counted = await nextPosition(trx, agentId);
        const noted = await findSet(trx, agentId, set);
        if (noted) return { ...toSet(noted), fresh: false };
        const placed = toSet(await placeSet(trx, { agentId, ...counted }, set, manifest));
        await forgetOld(trx, agentId, counted.position);
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
      const newest = setsOf(engine, agentId)
        .where("confirmation", "=", "pending")
        .where("manifest_hash", "=", manifestHash)
        .orderBy("position", "desc")
        .limit(1);
      const confirmed = await db
        .updateTable("function_sets")
        .set({ confirmation: "confirmed", confirmed_by: by, confirmed_at: dialect.now })
        .where("agent_id", "=", agentId)
        .where("confirmation", "=", "pending")
        .where("position", "=", db.selectFrom(newest.as("newest")).select("newest.position"))
        .returning("position")
        .executeTakeFirst();
      return confirmed !== undefined;
    },
  };
}

const setsOf = ({ db }: Engine, agentId: string) =>
  db.selectFrom("function_sets").selectAll().where("agent_id", "=", agentId);

/** Sets with their rank from the newest one of their service, counted apart where they wait for a confirmation. */
const rankedSets = (engine: Engine, agentId: string) =>
  setsOf(engine, agentId).select(
    sql<number>`row_number() over (partition by service, case when confirmation = 'pending' then 1 else 0 end
      order by place desc, position desc)`.as("rank"),
  );

/** The newest set of each service, and the newest one of those that wait for a confirmation. */
export const newestSets = (engine: Engine, agentId: string) =>
  engine.db.selectFrom(rankedSets(engine, agentId).as("ranked")).where("rank", "=", 1);

/** The sets of connected runtimes. From the runtimes on, since an agent may have many more sets. */
const connectedSets = ({ db }: Engine, agentId: string) =>
  db
    .selectFrom("runtimes")
    .innerJoin("function_sets as sets", (join) =>
      join
        .onRef("sets.agent_id", "=", "runtimes.agent_id")
        .onRef("sets.service", "=", "runtimes.service")
        .on("sets.named", "=", sql<number>`case when runtimes.deployment is null then 0 else 1 end`)
        .on("sets.deployment", "=", sql<string>`coalesce(runtimes.deployment, runtimes.instance_id)`)
        .onRef("sets.manifest_hash", "=", "runtimes.manifest_hash"),
    )
    .selectAll("sets")
    .distinct()
    .where("runtimes.agent_id", "=", agentId)
    .where("runtimes.connected", "=", 1);

/**
 * The row of a set that has its place. A runtime whose deployment has no name counts from the hello that brought the set it has
 * now, so that one which went back to an earlier set is placed again.
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

/** What a set is placed by. */
interface Placing {
  position: number;
  orgId: string;
  accessChanges: AccessChanges;
}

async function nextPosition({ db }: Engine, agentId: string): Promise<Placing> {
  const agent = await db
    .updateTable("agents")
    .set((eb) => ({ last_set_position: eb("last_set_position", "+", 1) }))
    .where("id", "=", agentId)
    .returning(["last_set_position as position", "org_id as orgId", "access_changes as accessChanges"])
    .executeTakeFirstOrThrow();
  return agent;
}

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

/** Keeps the newest set of each service for longer, and those of connected runtimes. */
async function forgetOld(trx: Engine, agentId: string, position: number): Promise<void> {
  if (position <= KEPT_SETS) return;
  const counted = rankedSets(trx, agentId).select([
    // An unnamed set has a place of its own, so each one counts as a deployment.
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
  // In a statement of its own: Postgres may count the sets again for each row that a single one deletes.
  const positions = old.map((row) => row.position);
  await trx.db.deleteFrom("function_sets").where("agent_id", "=", agentId).where("position", "in", positions).execute();
}

/** The newest set of each service that needs no confirmation, or has it. */
async function setsInUse(engine: Engine, agentId: string): Promise<FunctionSetRow[]> {
  return newestSets(engine, agentId).selectAll().where("confirmation", "!=", "pending").execute();
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
    ...present({ replaces, confirmedBy, confirmedAt }),
  };
}
