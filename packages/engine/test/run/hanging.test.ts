import { expect, test } from "vitest";
import type { ModelCatalog } from "../../src/ports/model-provider.ts";
import { memoryStore, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";
import { until } from "@patchbay/test-support/inbox";

const never = new Promise<never>(() => {});
const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok(1));

/** A model that neither answers nor reacts to an abort. */
function deafModel(): { catalog: ModelCatalog; asked: Promise<void> } {
  const asked = Promise.withResolvers<void>();
  async function* stream() {
    asked.resolve();
    yield await never;
  }
  const chosen = { provider: { name: "deaf", stream }, model: "deaf", cost: () => 0 };
  return { catalog: { choose: () => chosen }, asked: asked.promise };
}

test("a process stops in time and ends its followers although its model and its store hang", async () => {
  await using store = await memoryStore();
  const still = { ...store, runs: { ...store.runs, release: () => never } };
  const model = deafModel();
  const core = await startCore({ models: model.catalog, gateway, store: still });
  const run = await core.start("Hello");
  const result = core.result(run);
  await model.asked;

  // Waiting for the model or the store would never end.
  await core.runs.drain(0);

  expect(await result, "the run continues at another replica").toBeUndefined();
});

test("another replica claims hundreds of runs of a dead replica in a few polls", async () => {
  await using store = await memoryStore();
  const deaf = deafModel();
  let isDead = false;
  const mortal = new Proxy(store.runs, {
    get: (runs, name: keyof typeof store.runs) =>
      isDead ? () => Promise.reject(new Error("the process is dead")) : runs[name],
  });
  await using first = await startCore({ models: deaf.catalog, gateway, store: { ...store, runs: mortal } });
  const left = await Promise.all(Array.from({ length: 300 }, () => first.start("Hello")));
  isDead = true;
  await store.runs.releaseAll();
  let polls = 0;
  const counting = { ...store.runs, waiting: () => (polls++, store.runs.waiting()) };

  await using second = await startCore({
    models: scriptedModel(() => ({ text: "done" })).catalog,
    gateway,
    store: { ...store, runs: counting },
    owner: "replica-2",
  });
  await until(async () => (await store.runs.waiting()).length === 0, "the claims");
  // One batch of 32 per poll would take ten polls.
  expect(polls).toBeLessThan(6);

  const ended = await Promise.all(left.map((run) => second.result(run)));
  expect(ended.every((result) => result?.success)).toBe(true);
});
