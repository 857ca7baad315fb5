import type { Manifest } from "@patchbay/protocol";
import { StoreUnavailable } from "../ports/run-store.ts";
import type { RuntimeStore } from "../ports/stores.ts";
import type { Line } from "./line.ts";
import { Link } from "./link.ts";

const KEEP_COUNT = 200;

/** Function sets by their hash: that of a local line is at hand, others are read once and kept for a while. */
export interface Manifests {
  /** Undefined where the store has none, or is out of reach. The same object each time, as long as it is kept. */
  get(agentId: string, manifestHash: string): Promise<Manifest | undefined>;
  /** As `get`, of the line's set. */
  read(line: Line): Promise<Manifest | undefined>;
  keep(agentId: string, manifestHash: string, manifest: Manifest): void;
}

export function createManifests(store: RuntimeStore): Manifests {
  const kept = new Map<string, Manifest>();
  const reading = new Map<string, Promise<Manifest | undefined>>();

  const keyOf = (agentId: string, manifestHash: string): string => `${agentId}/${manifestHash}`;

  function keep(agentId: string, manifestHash: string, manifest: Manifest): Manifest {
    const key = keyOf(agentId, manifestHash);
    const known = kept.get(key) ?? manifest;
    kept.delete(key);
    kept.set(key, known);
    if (kept.size > KEEP_COUNT) kept.delete(kept.keys().next().value ?? key);
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
      reading.delete(keyOf(agentId, manifestHash));
    }
  }

  async function get(agentId: string, manifestHash: string): Promise<Manifest | undefined> {
    const key = keyOf(agentId, manifestHash);
    const manifest = kept.get(key);
    if (manifest) return manifest;
    const read = reading.get(key) ?? load(agentId, manifestHash);
    if (!reading.has(key)) reading.set(key, read);
    return read;
  }

  return {
    get,
    keep: (...set) => void keep(...set),
    async read(line) {
      const { agentId, manifestHash } = line.identity;
      if (line instanceof Link) return keep(agentId, manifestHash, line.identity.manifest);
      return get(agentId, manifestHash);
    },
  };
}
