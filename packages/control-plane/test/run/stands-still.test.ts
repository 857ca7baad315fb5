import { expect, test } from "vitest";
import type { ModelCatalog } from "../../src/ports/model-provider.ts";
import { openStore } from "../../src/store/open.ts";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const never = new Promise<never>(() => {});
const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok(1));

/** A model that is asked and neither answers nor listens to whoever gives up. */
function deafModel(): { catalog: ModelCatalog; asked: Promise<void> } {
  const asked = Promise.withResolvers<void>();
  async function* stream() {
    asked.resolve();
    yield await never;
  }
  const chosen = { provider: { name: "deaf", stream }, model: "deaf", cost: () => 0 };
  return { catalog: { choose: () => chosen }, asked: asked.promise };
}

test("neither a model nor a store that stands still keeps those who follow from being told at a stop", async () => {
  await using store = await openStore("sqlite::memory:").then((opened) => ({
    ...opened,
    [Symbol.asyncDispose]: () => opened.close(),
  }));
  const still = { ...store, runs: { ...store.runs, release: () => never } };
  const model = deafModel();
  const core = await startCore({ models: model.catalog, gateway, store: still });
  const run = await core.runs.start(core.caller, { query: "Hello", analysisMode: false, maxTokens: 100 });
  const result = core.runs.result(run, { signal: AbortSignal.timeout(10_000) });
  await model.asked;

  const began = performance.now();
  await core.runs.drain(0);

  expect(performance.now() - began).toBeLessThan(5_000);
  expect(await result, "the run goes on elsewhere").toBeUndefined();
});

test("hundreds of runs that a dead replica left are taken up at once", async () => {
  const store = await openStore("sqlite::memory:");
  const deaf = deafModel();
  const first = await startCore({ models: deaf.catalog, gateway, store });
  const query = { query: "Hello", analysisMode: false, maxTokens: 100 };
  const left = await Promise.all(Array.from({ length: 300 }, () => first.runs.start(first.caller, query)));
  await store.runs.releaseAll();

  const second = await startCore({
    models: scriptedModel(() => ({ text: "done" })).catalog,
    gateway,
    store,
    owner: "replica-2",
  });
  const began = performance.now();
  const ended = await Promise.all(left.map((run) => second.runs.result(run, { signal: AbortSignal.timeout(10_000) })));
  expect(ended.every((result) => result?.success)).toBe(true);
  // 32 a poll would take ten polls of a second each.
  expect(performance.now() - began).toBeLessThan(6_000);
  await second[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
  await store.close();
});
