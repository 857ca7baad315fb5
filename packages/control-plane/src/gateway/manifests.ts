import type { Manifest } from "@patchbay/protocol";
import { StoreUnavailable } from "../ports/run-store.ts";
import type { RuntimeStore } from "../ports/stores.ts";
import type { Line } from "./line.ts";
import { Link } from "./link.ts";

const KEEP_COUNT = 200;

/** The function sets of lines: a local one's is at hand, that of another replica's is read once and kept for a while. */
export interface Manifests {
  /** Undefined where the store has none, or is out of reach. */
  read(line: Line): Promise<Manifest | undefined>;
}

export function createManifests(store: RuntimeStore): Manifests {
  const kept = new Map<string, Manifest>();
  const reading = new Map<string, Promise<Manifest | undefined>>();

  const keyOf = ({ identity }: Line): string => `${identity.agentId}/${identity.manifestHash}`;

  function keep(key: string, manifest: Manifest): void {
    kept.delete(key);
    kept.set(key, manifest);
    if (kept.size > KEEP_COUNT) kept.delete(kept.keys().next().value ?? key);
  }

  function known(line: Line): Manifest | undefined {
    return line instanceof Link ? line.identity.manifest : kept.get(keyOf(line));
  }

  async function load({ identity }: Line, key: string): Promise<Manifest | undefined> {
    try {
      const manifest = await store.getManifest(identity.agentId, identity.manifestHash);
      if (manifest) keep(key, manifest);
      return manifest;
    } catch (error) {
      if (error instanceof StoreUnavailable) return undefined;
      throw error;
    } finally {
      reading.delete(key);
    }
  }

  return {
    async read(line) {
      const manifest = known(line);
      if (manifest) return manifest;
      const key = keyOf(line);
      const read = reading.get(key) ?? load(line, key);
      if (!reading.has(key)) reading.set(key, read);
      return read;
    },
  };
}
