import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { createCombinations } from "../../src/gateway/combination.ts";
import { createManifests } from "../../src/gateway/manifests.ts";
import { addAgents, noteTakingStore } from "../../../../test/support/gateway-server.ts";
import { handManifest } from "../../../../test/support/hand-service.ts";

const serviceOf = (service: string) => ({ service, manifest: handManifest([service]), manifestHash: service });

test("combinations keep to the stored sets of an agent without a further connection", async () => {
  const store = await noteTakingStore();
  await using _ = { [Symbol.asyncDispose]: () => store.all.close() };
  await addAgents(store.all);
  const limits = { ...DEFAULT_LIMITS, functionSetsPerAgent: 3 };
  const combinations = createCombinations({ store, manifests: createManifests(store), limits });

  const hashes: string[] = [];
  for (let i = 0; i < 6; i++)
    hashes.push((await combinations.of("agent-a", [serviceOf("desk"), serviceOf(`mail-${i}`)])).manifestHash);

  const stored = await Promise.all(hashes.map((hash) => store.getManifest("agent-a", hash)));
  expect(stored.filter((one) => one !== undefined)).toHaveLength(3);
  expect(stored.at(-1)).toBeDefined();
});

test("a combination names the hooks of its services, in their order", async () => {
  const store = await noteTakingStore();
  await using _ = { [Symbol.asyncDispose]: () => store.all.close() };
  await addAgents(store.all);
  const combinations = createCombinations({ store, manifests: createManifests(store), limits: DEFAULT_LIMITS });
  const hooked = (service: string, hooks: object) => ({
    service,
    manifest: { ...handManifest([service]), name: service, ...hooks },
    manifestHash: `hash of ${service}`,
  });

  const { manifest, manifestHash } = await combinations.of("agent-a", [
    hooked("desk", { beforeAnswer: true }),
    hooked("mail", {}),
    hooked("words", { beforeQuery: true }),
  ]);

  expect(manifest.hooks).toEqual([
    { service: "desk", manifestHash: "hash of desk", beforeQuery: false, beforeAnswer: true },
    { service: "words", manifestHash: "hash of words", beforeQuery: true, beforeAnswer: false },
  ]);
  expect(await store.getManifest("agent-a", manifestHash)).toEqual(manifest);
});
