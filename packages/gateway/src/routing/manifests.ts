import { monotonicMs } from "@patchbay/kit/time";
import { type FunctionManifest, LIMITS, type Manifest, type OperatorLimits } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { type FunctionSet, hooksOf, type ServiceSet } from "@patchbay/engine/ports/function-gateway";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import type { RuntimeStore } from "@patchbay/engine/ports/store/stores";
import type { RuntimeChannel } from "../channel.ts";
import type { RuntimeConnection } from "../local/runtime-connection.ts";
import { commonInclusions } from "./inclusions.ts";
import { hashManifest } from "./manifest-hash.ts";

/** Manifests, and combined sets, that are kept in memory. */
const MAX_KEPT = 200;
/** A combined set in use is saved again after this time, since the store deletes the oldest when there are too many. */
const SAVE_AGAIN_MS = 60_000;

/**
 * Function sets by hash. A connection to this replica has its own in memory; others are read from the store once and
 * kept.
 */
export function createManifestCache(store: Pick<RuntimeStore, "getManifest">) {
  const kept = new Map<string, Manifest>();
  const readings = new Map<string, Promise<Manifest | undefined>>();

  /** Undefined when the store has none or is unavailable. Returns the same object each time, as long as it is kept. */
  async function get(agentId: string, manifestHash: string): Promise<Manifest | undefined> {
    const key = keyOf(agentId, manifestHash);
    const manifest = kept.get(key);
    if (manifest) return manifest;
    const reading = readings.get(key) ?? load(agentId, manifestHash);
    if (!readings.has(key)) readings.set(key, reading);
    return reading;
  }

  /** Returns the object that is already kept if there is one: comparisons are cached by object. */
  function keep(agentId: string, manifestHash: string, manifest: Manifest): Manifest {
    const key = keyOf(agentId, manifestHash);
    const known = kept.get(key) ?? manifest;
    kept.delete(key);
    kept.set(key, known);
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value ?? key);
    return known;
  }

  async function load(agentId: string, manifestHash: string): Promise<Manifest | undefined> {
    try {
      const manifest = await store.getManifest(agentId, manifestHash);
      return manifest && keep(agentId, manifestHash, manifest);
    } catch (error) {
      if (error instanceof StoreUnavailable) return undefined;
      throw error;
    } finally {
      readings.delete(keyOf(agentId, manifestHash));
    }
  }

  return {
    get,
    keep,
    /** A channel's function set, as `get`. */
    async of({ identity }: RuntimeChannel | RuntimeConnection): Promise<Manifest | undefined> {
      const { agentId, manifestHash } = identity;
      return "manifest" in identity ? keep(agentId, manifestHash, identity.manifest) : get(agentId, manifestHash);
    },
  };
}
export type ManifestCache = ReturnType<typeof createManifestCache>;

const keyOf = (agentId: string, manifestHash: string): string => `${agentId}/${manifestHash}`;

interface CombinedSetsDeps {
  store: Pick<RuntimeStore, "trimManifests" | "saveManifest">;
  manifests: ManifestCache;
  limits: OperatorLimits;
}

/** Combines several services' function sets into one. */
export function createCombinedSets({ store, manifests, limits }: CombinedSetsDeps) {
  const saved = new Map<string, { set: FunctionSet; savedAt: number }>();

  async function save(agentId: string, services: readonly ServiceSet[]): Promise<FunctionSet> {
    const manifest = combine(services);
    const set = { manifest, manifestHash: hashManifest(manifest) };
    // Trimmed before the save: no run names the new set yet, so a trim after it could delete it.
    await store.trimManifests(agentId, limits.functionSetsPerAgent - 1);
    await store.saveManifest(agentId, set.manifestHash, manifest);
    manifests.keep(agentId, set.manifestHash, manifest);
    return set;
  }

  return {
    /** A single service's set unchanged. A combined set is stored, so that a replica that takes over a run finds it. */
    async of(agentId: string, services: readonly ServiceSet[]): Promise<FunctionSet> {
      const [only, ...more] = services;
      if (only && more.length === 0) return { manifest: only.manifest, manifestHash: only.manifestHash };
      const key = JSON.stringify([agentId, ...services.map(({ manifestHash }) => manifestHash)]);
      const known = saved.get(key);
      if (known && monotonicMs() - known.savedAt < SAVE_AGAIN_MS) return known.set;
      const savedAt = monotonicMs();
      const set = await save(agentId, services);
      saved.delete(key);
      saved.set(key, { set, savedAt });
      if (saved.size > MAX_KEPT) saved.delete(saved.keys().next().value ?? key);
      return set;
    },
  };
}
export type CombinedSets = ReturnType<typeof createCombinedSets>;

/** Each function names its service and that service's own set. */
function combine(services: readonly ServiceSet[]): Manifest {
  const roles = [...new Set(services.flatMap(({ manifest }) => manifest.roles ?? []))];
  const defaultRole = services.find(({ manifest }) => manifest.defaultRole !== undefined)?.manifest.defaultRole;
  const instructions = services.flatMap(({ service, manifest }) => {
    const text = manifest.instructions?.trim() ?? "";
    return text === "" ? [] : [`Service ${service}:\n${text}`];
  });
  const hooks = services.flatMap(hooksOf);
  const exampleQueries = services
    .flatMap(({ manifest }) => manifest.exampleQueries ?? [])
    .slice(0, LIMITS.exampleQueriesPerService);
  return {
    name: services.map(({ service }) => service).join(", "),
    ...(roles.length > 0 && { roles }),
    ...present({ defaultRole, roleOptions: commonInclusions(services.map(({ manifest }) => manifest)) }),
    ...(instructions.length > 0 && { instructions: instructions.join("\n\n") }),
    ...(hooks.length > 0 && { hooks }),
    ...(exampleQueries.length > 0 && { exampleQueries }),
    preparesContext: services.some(({ manifest }) => manifest.preparesContext),
    functions: services.flatMap(({ service, manifestHash, manifest }) =>
      manifest.functions.map((one): FunctionManifest => ({ ...one, origin: { service, manifestHash } })),
    ),
  };
}
