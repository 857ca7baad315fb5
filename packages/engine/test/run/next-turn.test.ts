import { expect, test } from "vitest";
import type { ChosenModel, ModelCatalog } from "../../src/ports/model-provider.ts";
import { nextRequest } from "../../src/run/loop/request.ts";
import { createProgress, createState } from "../../src/run/state.ts";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

/** How often a run of `turns` turns reads the size of the model's window: once for each request that it builds, and a few times at its start. */
async function windowReads(turns: number, tier: string): Promise<number> {
  const model = scriptedModel((_, index) => (index < turns - 1 ? { calls: [["open", { index }]] } : { text: "Done." }));
  let reads = 0;
  const chosen: ChosenModel = {
    ...(model.catalog.choose() as ChosenModel),
    get contextTokens() {
      reads++;
      return 100_000;
    },
  };
  const models: ModelCatalog = { choose: () => chosen };
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok(1));
  await using core = await startCore({ models, gateway, tier });
  await core.store.accounts.grant("org_1", 1_000_000_000);
  expect(await core.query("Go")).toMatchObject({ success: true });
  expect(model.requests).toHaveLength(turns);
  return reads;
}

test.each(["sandbox", "starter"])("a run of the tier %s builds each model request once", async (tier) => {
  expect((await windowReads(5, tier)) - (await windowReads(1, tier))).toBe(4);
});

test("the first request of a charged run is built once, for its reservation", async () => {
  // The reservation creates a state of its own, and building it reads the window once more.
  expect((await windowReads(1, "starter")) - (await windowReads(1, "sandbox"))).toBe(1);
});

test("building a request changes nothing in the state of its run", async () => {
  const model = scriptedModel([{ text: "x".repeat(3_000) }, { text: "y".repeat(3_000) }, { text: "Done." }]);
  const manifest = manifestOf({ open: "everyone" });
  await using core = await startCore({ models: model.catalog, gateway: fakeGateway(manifest, () => ok(1)).gateway });
  const { threadId } = await core.query("One");
  await core.query("Two", { threadId });
  const { runId } = await core.query("Three", { threadId });
  const run = (await core.store.runs.get("agt_1", runId))!;
  const request = { ...run.request, historyTokens: 100 };
  const scope = { role: undefined, subject: undefined, maxBytes: 10_000, before: runId };
  const history = await core.store.runs.history(threadId, scope);
  const chosen = { model: model.catalog.choose() as ChosenModel };
  const state = createState(createProgress({ ...run, request }), { ...chosen, manifest, history });
  state.dropped = 0;
  const before = structuredClone({ ...state, model: undefined, fallback: [] });

  const next = nextRequest(state);

  expect(next).toMatchObject({ dropped: 2, warning: expect.stringContaining("Earlier turns") as unknown });
  expect({ ...state, model: undefined, fallback: [] }).toEqual(before);
});
