import { type Manifest, type Widening, widenings } from "@patchbay/protocol";
import { fromJson } from "./columns.ts";
import type { Engine, FunctionSetRow } from "./schema.ts";

/**
 * What an agent's functions allow with a new set of one service that they do not allow now. The first set of a service is
 * compared with an empty one. The first set of an agent widens nothing.
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
  // A set that is no longer stored counts as one that allowed nothing.
  const own = stored.find(({ name }) => name === manifest.name) ?? {
    name: manifest.name,
    preparesContext: false,
    functions: [],
  };
  return widenings(combine(own, others), combine(manifest, others));
}

/** The default role of one service is that of every query, so it also opens functions of the other services. */
function combine(own: Manifest, others: readonly Manifest[]): Manifest {
  const defaultRole = [own, ...others].find((one) => one.defaultRole !== undefined)?.defaultRole;
  const functions = others.flatMap(({ name: service, functions }) =>
    // Roles and redactions decide what a default role opens. The schemas are the same before and after.
    functions.map((one) => ({ ...one, name: `${one.name} of ${service}`, inputSchema: {}, outputSchema: {} })),
  );
  return {
    ...own,
    ...(defaultRole !== undefined && { defaultRole }),
    functions: [...own.functions, ...functions],
  };
}

/** Those of the newest sets first. */
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
