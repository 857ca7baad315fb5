import { DEFAULT_LIMITS, LIMITS } from "@patchbay/protocol";
import { expect, test, vi } from "vitest";
import { createCombinedSets, createManifestCache } from "../src/routing/manifests.ts";
import { addAgents, recordingStore } from "@patchbay/test-support/gateway-server";
import { fakeManifest } from "@patchbay/test-support/fake-service";

const serviceOf = (service: string) => ({ service, manifest: fakeManifest([service]), manifestHash: service });

test("combined sets stay within the limit of stored sets without a further connection", async () => {
  const store = await recordingStore();
  await using _ = { [Symbol.asyncDispose]: () => store.all.close() };
  await addAgents(store.all);
  const limits = { ...DEFAULT_LIMITS, functionSetsPerAgent: 3 };
  const combined = createCombinedSets({ store, manifests: createManifestCache(store), limits });

  const hashes: string[] = [];
  for (let i = 0; i < 6; i++)
    hashes.push((await combined.of("agent-a", [serviceOf("desk"), serviceOf(`mail-${i}`)])).manifestHash);

  const stored = await Promise.all(hashes.map((hash) => store.getManifest("agent-a", hash)));
  expect(stored.filter((one) => one !== undefined)).toHaveLength(3);
  expect(stored.at(-1)).toBeDefined();
});

test("a combined set names the hooks of its services, in their order", async () => {
  const store = await recordingStore();
  await using _ = { [Symbol.asyncDispose]: () => store.all.close() };
  await addAgents(store.all);
  const combined = createCombinedSets({ store, manifests: createManifestCache(store), limits: DEFAULT_LIMITS });
  const hooked = (service: string, hooks: object) => ({
    service,
    manifest: { ...fakeManifest([service]), name: service, ...hooks },
    manifestHash: `hash of ${service}`,
  });

  const { manifest, manifestHash } = await combined.of("agent-a", [
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

test("a combined set has the example queries of its services, in their order and within the limit", async () => {
  const store = await recordingStore();
  await using _ = { [Symbol.asyncDispose]: () => store.all.close() };
  await addAgents(store.all);
  const combined = createCombinedSets({ store, manifests: createManifestCache(store), limits: DEFAULT_LIMITS });
  const withExamples = (service: string, count: number) => {
    const exampleQueries = Array.from({ length: count }, (_, i) => ({ query: `${service} ${i}`, role: "support" }));
    return { service, manifest: { ...fakeManifest([service]), exampleQueries }, manifestHash: service };
  };

  const { manifest } = await combined.of("agent-a", [
    withExamples("desk", 15),
    serviceOf("mail"),
    withExamples("words", 15),
  ]);

  expect(manifest.exampleQueries).toHaveLength(LIMITS.exampleQueriesPerService);
  expect(manifest.exampleQueries?.[0]).toEqual({ query: "desk 0", role: "support" });
  expect(manifest.exampleQueries?.at(-1)).toEqual({ query: "words 4", role: "support" });
});

test("a combined set is saved again a minute after its last save began, however long that took", async () => {
  let now = 0;
  using _clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  let saves = 0;
  const store = {
    trimManifests: async () => 0,
    async saveManifest() {
      saves++;
      now += 30_000;
    },
    getManifest: async () => undefined,
  };
  const combined = createCombinedSets({ store, manifests: createManifestCache(store), limits: DEFAULT_LIMITS });
  const save = () => combined.of("agent-a", [serviceOf("desk"), serviceOf("mail")]);
  await save();

  now = 59_999;
  await save();
  expect(saves).toBe(1);
  now = 60_000;
  await save();
  expect(saves).toBe(2);
});
