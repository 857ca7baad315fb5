import { type Manifest } from "@patchbay/protocol";
import { type Widening, wideningComparison } from "@patchbay/access";
import { sql, type SqlBool } from "kysely";
import { compareInTurn } from "@patchbay/engine/ports/store/comparisons";
import { manifestIn } from "../columns.ts";
import type { Engine } from "../engine.ts";
import type { FunctionSetRow } from "../tables/schema.ts";

/** All sets for an agent. */
export const setsOf = ({ db }: Engine, agentId: string) =>
  db.selectFrom("function_sets").selectAll().where("agent_id", "=", agentId);

/** Sets with their rank within the service, newest first. Sets that wait for a confirmation are ranked separately. */
export const rankedSets = (engine: Engine, agentId: string) =>
  setsOf(engine, agentId).select(
    sql<number>`row_number() over (partition by service, case when confirmation = 'pending' then 1 else 0 end
      order by place desc, position desc)`.as("rank"),
  );

/** Each service's newest set, and each service's newest set that waits for a confirmation. */
export const newestSets = (engine: Engine, agentId: string) =>
  engine.db.selectFrom(rankedSets(engine, agentId).as("ranked")).where("rank", "=", 1);

/** Joins `sets` rows with `runtimes` rows. */
export const isSetOfRuntime = sql<SqlBool>`(sets.agent_id = runtimes.agent_id and sets.service = runtimes.service
  and sets.named = case when runtimes.deployment is null then 0 else 1 end
  and sets.deployment = coalesce(runtimes.deployment, runtimes.instance_id)
  and sets.manifest_hash = runtimes.manifest_hash)`;

/** The sets of connected runtimes. The join starts at the runtimes: an agent has few, and maybe thousands of sets. */
export const connectedSets = ({ db }: Engine, agentId: string) =>
  db
    .selectFrom("runtimes")
    .innerJoin("function_sets as sets", (join) => join.on(isSetOfRuntime))
    .selectAll("sets")
    .distinct()
    .where("runtimes.agent_id", "=", agentId)
    .where("runtimes.connected", "=", 1);

/** Each service's newest set that does not wait for a confirmation: these serve queries. */
export async function setsInUse(engine: Engine, agentId: string): Promise<FunctionSetRow[]> {
  return newestSets(engine, agentId).selectAll().where("confirmation", "!=", "pending").execute();
}

/**
 * A new set's widenings: what all the agent's functions together allow with it and did not allow before. A service's
 * first set is compared with an empty set. An agent's first set widens nothing.
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
  return compareInTurn(agentId, wideningComparison(combine(own, others), combine(manifest, others)));
}

/**
 * A service's manifest with the functions of the other services. One service's default role applies to every query and
 * so also gives access to functions of the others.
 */
function combine(own: Manifest, others: readonly Manifest[]): Manifest {
  const defaultRole = [own, ...others].find((one) => one.defaultRole !== undefined)?.defaultRole;
  const functions = others.flatMap(({ name: service, functions }) =>
    // Only roles and redactions matter here: the schemas of other services do not change.
    functions.map((one) => ({ ...one, name: `${one.name} of ${service}`, inputSchema: {}, outputSchema: {} })),
  );
  return { ...own, ...(defaultRole !== undefined && { defaultRole }), functions: [...own.functions, ...functions] };
}

/** The manifests of these sets, newest first. Each may have half a megabyte, so they are parsed one by one. */
async function readManifests({ db }: Engine, agentId: string, rows: readonly FunctionSetRow[]): Promise<Manifest[]> {
  const found: Manifest[] = [];
  for (const { manifest_hash: hash } of rows.toSorted((a, b) => b.place - a.place)) {
    const stored = db.selectFrom("manifests").select("body").where("agent_id", "=", agentId).where("hash", "=", hash);
    const row = await stored.executeTakeFirst();
    if (row) found.push(await manifestIn(row.body));
  }
  return found;
}
