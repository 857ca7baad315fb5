import { type Manifest, type Widening, widenings } from "@patchbay/protocol";
import { sql, type SqlBool } from "kysely";
import { fromJson } from "./columns.ts";
import type { Engine } from "./engine.ts";
import type { FunctionSetRow } from "./schema.ts";

/** All sets of an agent. */
export const setsOf = ({ db }: Engine, agentId: string) =>
  db.selectFrom("function_sets").selectAll().where("agent_id", "=", agentId);

/** Sets with their rank within the service, newest first. Sets that wait for a confirmation are ranked separately. */
export const rankedSets = (engine: Engine, agentId: string) =>
  setsOf(engine, agentId).select(
    sql<number>`row_number() over (partition by service, case when confirmation = 'pending' then 1 else 0 end
      order by place desc, position desc)`.as("rank"),
  );

/** The newest set of each service, and the newest set of each service that waits for a confirmation. */
export const newestSets = (engine: Engine, agentId: string) =>
  engine.db.selectFrom(rankedSets(engine, agentId).as("ranked")).where("rank", "=", 1);

/** Joins rows of `sets` with those of `runtimes`. */
export const isSetOfRuntime = sql<SqlBool>`(sets.agent_id = runtimes.agent_id and sets.service = runtimes.service
  and sets.named = case when runtimes.deployment is null then 0 else 1 end
  and sets.deployment = coalesce(runtimes.deployment, runtimes.instance_id)
  and sets.manifest_hash = runtimes.manifest_hash)`;

/** The sets of connected runtimes. The join begins at the runtimes: an agent has few of them and maybe thousands of sets. */
export const connectedSets = ({ db }: Engine, agentId: string) =>
  db
    .selectFrom("runtimes")
    .innerJoin("function_sets as sets", (join) => join.on(isSetOfRuntime))
    .selectAll("sets")
    .distinct()
    .where("runtimes.agent_id", "=", agentId)
    .where("runtimes.connected", "=", 1);

/** The newest set of each service that is not waiting for a confirmation: these serve queries. */
export async function setsInUse(engine: Engine, agentId: string): Promise<FunctionSetRow[]> {
  return newestSets(engine, agentId).selectAll().where("confirmation", "!=", "pending").execute();
}

/**
 * The widenings of a new set: what all functions of the agent together allow with it and did not allow before. The first set
 * of a service is compared with an empty set. The first set of an agent widens nothing.
 */
export async function compareSet(
  engine: Engine,
  agentId: string,
  inUse: readonly FunctionSetRow[],
  manifest: Manifest,
): Promise<Widening[]> {
  if (inUse.length === 0) return [];
  const stored = await readManifests(engine, agentId, inUse);
  const others = stored.filter(({ name }) => name !== manifest.name);
  // A set whose manifest was deleted counts as empty: the comparison then reports too much rather than too little.
  const own = stored.find(({ name }) => name === manifest.name) ?? {
    name: manifest.name,
    preparesContext: false,
    functions: [],
  };
  return widenings(combine(own, others), combine(manifest, others));
}

/**
 * The manifest of a service with the functions of the other services. The default role of one service applies to every query
 * and so also gives access to functions of the others.
 */
function combine(own: Manifest, others: readonly Manifest[]): Manifest {
  const defaultRole = [own, ...others].find((one) => one.defaultRole !== undefined)?.defaultRole;
  const functions = others.flatMap(({ name: service, functions }) =>
    // Only roles and redactions matter here: the schemas of the other services do not change.
    functions.map((one) => ({ ...one, name: `${one.name} of ${service}`, inputSchema: {}, outputSchema: {} })),
  );
  return {
    ...own,
    ...(defaultRole !== undefined && { defaultRole }),
    functions: [...own.functions, ...functions],
  };
}

/** The manifests of these sets, newest first. */
async function readManifests(engine: Engine, agentId: string, rows: readonly FunctionSetRow[]): Promise<Manifest[]> {
  const hashes = rows.toSorted((a, b) => b.place - a.place).map((row) => row.manifest_hash);
  const stored = await engine.db
    .selectFrom("manifests")
    .select(["hash", "body"])
    .where("agent_id", "=", agentId)
    .where("hash", "in", hashes)
    .execute();
  return stored
    .toSorted((a, b) => hashes.indexOf(a.hash) - hashes.indexOf(b.hash))
    .map(({ body }): Manifest => fromJson(body));
}
