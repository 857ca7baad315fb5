import type { OperatorLimits } from "@patchbay/protocol";
import type { MissingService } from "../ports/function-gateway.ts";
import { StoreUnavailable } from "../ports/run-store.ts";
import type { RuntimeStore, SetIdentity } from "../ports/stores.ts";
import { Compatible } from "./conflict.ts";
import type { Manifests } from "./manifests.ts";
import type { Served } from "./serving.ts";

/** A service whose runtime was seen this recently is likely to have it back soon. */
export const RECENT_MS = 60_000;
/** How long an answer of the store is used: an agent may keep a service in its order that never comes back. */
const FRESH_MS = 1_000;
const KEEP_COUNT = 10_000;

/** Names the services that do not serve now, and whose runtime is likely to be back soon. */
export type MissingServices = (agentId: string, now: Served) => Promise<MissingService[]>;

/** The sets that would serve, of the services that do not. */
export const unservedSets = ({ withheld, absent }: Served): SetIdentity[] => [
  ...withheld.flatMap(({ awaited }) => awaited ?? []),
  ...absent,
];

export function createMissingServices({
  store,
  manifests,
  limits,
}: {
  store: Pick<RuntimeStore, "lastSeenAgoMs">;
  manifests: Manifests;
  limits: OperatorLimits;
}): MissingServices {
  const answers = new Map<string, { recent: Promise<SetIdentity[]>; readAt: number }>();

  async function isRecent(agentId: string, sets: readonly SetIdentity[]): Promise<boolean> {
    const hashes = sets.map(({ manifestHash }) => manifestHash);
    const agoMs = await store.lastSeenAgoMs(agentId, hashes);
    return agoMs !== undefined && agoMs < RECENT_MS;
  }

  async function readRecent(agentId: string, sets: readonly SetIdentity[]): Promise<SetIdentity[]> {
    try {
      // One question in the usual case, in which all of them are long gone.
      if (!(await isRecent(agentId, sets))) return [];
      const recent: SetIdentity[] = [];
      for (const set of sets) if (sets.length === 1 || (await isRecent(agentId, [set]))) recent.push(set);
      return recent;
    } catch (error) {
      // The services that are connected serve on while the store is out of reach.
      if (error instanceof StoreUnavailable) return [];
      throw error;
    }
  }

  function recentOf(agentId: string, sets: readonly SetIdentity[]): Promise<SetIdentity[]> {
    const key = JSON.stringify([agentId, ...sets.map(({ manifestHash }) => manifestHash)]);
    const known = answers.get(key);
    if (known && performance.now() - known.readAt < FRESH_MS) return known.recent;
    const recent = readRecent(agentId, sets);
    answers.delete(key);
    answers.set(key, { recent, readAt: performance.now() });
    if (answers.size > KEEP_COUNT) answers.delete(answers.keys().next().value ?? key);
    return recent;
  }

  return async (agentId, now) => {
    const sets = unservedSets(now);
    if (sets.length === 0) return [];
    const missing: MissingService[] = [];
    for (const { service, manifestHash } of await recentOf(agentId, sets)) {
      const manifest = await manifests.get(agentId, manifestHash);
      const served = new Compatible(limits, now.served);
      // A service whose functions another one has taken over is refused when it comes back.
      const isRefused = manifest && served.add({ service, manifestHash, manifest }) !== undefined;
      const hasHooks = manifest?.beforeQuery === true || manifest?.beforeAnswer === true;
      if (!isRefused) missing.push({ service, hasHooks });
    }
    return missing;
  };
}
