import type { FunctionManifest, Manifest, OperatorLimits } from "@patchbay/protocol";
import { type FunctionSet, hooksOf, type ServiceSet } from "../ports/function-gateway.ts";
import type { RuntimeStore } from "../ports/stores.ts";
import { hashManifest } from "./manifest.ts";
import type { Manifests } from "./manifests.ts";

const KEEP_COUNT = 200;
/** The store deletes the oldest of too many sets: a combination in use is saved again, and counts as new. */
const SAVE_AGAIN_MS = 60_000;

/** Makes one function set out of those of several services. */
export interface Combinations {
  /** That of a single service is its own. A combination is stored, so that whoever goes on with a run finds it. */
  of(agentId: string, services: readonly ServiceSet[]): Promise<FunctionSet>;
}

export function createCombinations(options: {
  store: RuntimeStore;
  manifests: Manifests;
  limits: OperatorLimits;
}): Combinations {
  const { store, manifests, limits } = options;
  const saved = new Map<string, { set: FunctionSet; savedAt: number }>();

  async function save(agentId: string, services: readonly ServiceSet[]): Promise<FunctionSet> {
    const manifest = combine(services);
    const set = { manifest, manifestHash: hashManifest(manifest) };
    // Trimmed first: the new set is not named by a run yet, and could be deleted.
    await store.trimManifests(agentId, limits.functionSetsPerAgent - 1);
    await store.saveManifest(agentId, set.manifestHash, manifest);
    manifests.keep(agentId, set.manifestHash, manifest);
    return set;
  }

  return {
    async of(agentId, services) {
      const [only, ...more] = services;
      if (only && more.length === 0) return { manifest: only.manifest, manifestHash: only.manifestHash };
      const key = JSON.stringify([agentId, ...services.map(({ manifestHash }) => manifestHash)]);
      const known = saved.get(key);
      if (known && performance.now() - known.savedAt < SAVE_AGAIN_MS) return known.set;
      const set = await save(agentId, services);
      saved.delete(key);
      saved.set(key, { set, savedAt: performance.now() });
      if (saved.size > KEEP_COUNT) saved.delete(saved.keys().next().value ?? key);
      return set;
    },
  };
}

/** Each function names its service and that service's own set. */
function combine(services: readonly ServiceSet[]): Manifest {
  const roles = [...new Set(services.flatMap(({ manifest }) => manifest.roles ?? []))];
  const defaultRole = services.find(({ manifest }) => manifest.defaultRole !== undefined)?.manifest.defaultRole;
  const instructions = services.flatMap(({ service, manifest }) => {
    const text = manifest.instructions?.trim() ?? "";
    return text === "" ? [] : [`Service ${service}:\n${text}`];
  });
  const hooks = services.flatMap(hooksOf);
  return {
    name: services.map(({ service }) => service).join(", "),
    ...(roles.length > 0 && { roles }),
    ...(defaultRole !== undefined && { defaultRole }),
    ...(instructions.length > 0 && { instructions: instructions.join("\n\n") }),
    ...(hooks.length > 0 && { hooks }),
    preparesContext: services.some(({ manifest }) => manifest.preparesContext),
    functions: services.flatMap(({ service, manifestHash, manifest }) =>
      manifest.functions.map((one): FunctionManifest => ({ ...one, origin: { service, manifestHash } })),
    ),
  };
}
