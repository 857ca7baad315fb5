import { sql } from "kysely";
import { type AccessChanges, type Manifest, type Widening, widenings } from "@patchbay/protocol";
import type { DeployedSet, PlacedSet, RuntimeStore, SetIdentity } from "../ports/stores.ts";
import { insertAudit } from "./audit.ts";
import { fromJson, present, toJson } from "./columns.ts";
import type { Engine, FunctionSetRow } from "./schema.ts";
import { transact } from "./transact.ts";

/** Widenings in one entry of the audit log; all of them stay with the set. */
const AUDITED = 100;

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
        if (placed.widenings.length > 0) await insertAudit(trx, [widened(agentId, counted.orgId, keyId, placed)]);
        return { ...placed, fresh: true };
      });
    },

    async setOrder(agentId) {
      const rows = await db
        .selectFrom(rankedSets(engine, agentId).as("ranked"))
        .selectAll()
        .where((eb) => eb.or([eb("rank", "=", 1), eb("connected", "=", 1)]))
        .execute();
      return rows.map((row): PlacedSet => ({
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

/** Sets with their rank from the newest one, counted apart where they wait for a confirmation, and whether a runtime has them. */
function rankedSets(engine: Engine, agentId: string) {
  return setsOf(engine, agentId).select([
    sql<number>`row_number() over (partition by service, case when confirmation = 'pending' then 1 else 0 end
      order by place desc, position desc)`.as("rank"),
    sql<number>`case when exists (select 1 from runtimes where runtimes.agent_id = function_sets.agent_id
      and runtimes.connected = 1 and runtimes.service = function_sets.service
      and runtimes.manifest_hash = function_sets.manifest_hash
      and coalesce(runtimes.deployment, runtimes.instance_id) = function_sets.deployment) then 1 else 0 end`.as(
      "connected",
    ),
  ]);
}

/** Hashes of each service's newest set, and of its newest one that waits for a confirmation. */
export const newestSets = (engine: Engine, agentId: string) =>
  engine.db.selectFrom(rankedSets(engine, agentId).as("ranked")).select("manifest_hash").where("rank", "=", 1);

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
    widenings: toJson(found),
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
  const texts = set.widenings.slice(0, AUDITED).map(({ text }) => text);
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

/** The newest set of each service that needs no confirmation, or has it. */
async function setsInUse(engine: Engine, agentId: string): Promise<FunctionSetRow[]> {
  return engine.db
    .selectFrom(rankedSets(engine, agentId).as("ranked"))
    .selectAll()
    .where("rank", "=", 1)
    .where("confirmation", "!=", "pending")
    .execute();
}

/**
 * Compares a set with the one in use of its service. A service that is new to the agent is compared with what the agent's other
 * services allow of the same functions, so that another name for a service hides no widening.
 */
async function compareSet(
  engine: Engine,
  agentId: string,
  inUse: readonly FunctionSetRow[],
  manifest: Manifest,
): Promise<Widening[]> {
  const own = inUse.filter(({ service }) => service === manifest.name);
  const before = await readManifests(engine, agentId, own.length > 0 ? own : inUse);
  if (before.length === 0) return [];
  if (own.length > 0) return widenings(before[0]!, manifest);
  const functions = before.flatMap((one) => one.functions);
  const names = new Set(functions.map(({ name }) => name));
  const defaultRole = before.find((one) => one.defaultRole !== undefined)?.defaultRole;
  return widenings(
    { name: manifest.name, preparesContext: false, functions, ...(defaultRole !== undefined && { defaultRole }) },
    { ...manifest, functions: manifest.functions.filter(({ name }) => names.has(name)) },
  );
}

async function readManifests(engine: Engine, agentId: string, rows: readonly FunctionSetRow[]): Promise<Manifest[]> {
  if (rows.length === 0) return [];
  const stored = await engine.db
    .selectFrom("manifests")
    .select("body")
    .where("agent_id", "=", agentId)
    .where(
      "hash",
      "in",
      rows.map((row) => row.manifest_hash),
    )
    .execute();
  return stored.map(({ body }) => fromJson(body));
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
