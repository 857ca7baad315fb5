import type { Feedback } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { RunFilter } from "../../../console-api/src/runs/filter.ts";
import { openWorld, type MakePlace } from "./world.ts";

const DAY_MS = 86_400_000;

export function feedbackContract(place: MakePlace): void {
  test("the newest feedback of a key counts, apart from those of other keys", async () => {
    await using world = await openWorld(place);
    const { store, agentId, orgId, console } = world;
    const { runId } = await world.start({});
    const said = (keyId: string) => ({ runId, orgId, keyId });
    await store.accounts.createCredential({
      credentialId: "key_b",
      kind: "api",
      agentId,
      hash: "h",
      hint: "b…",
      label: "Shop",
    });

    await store.runs.recordFeedback(said("key_a"), { score: -0.5, tags: ["slow"], comment: "Wrong\u0000 order" });
    world.clock.advance(5);
    await store.runs.recordFeedback(said("key_b"), { score: 1 });
    world.clock.advance(5);
    await store.runs.recordFeedback(said("key_a"), { tags: ["slow", "rude"] });
    await store.runs.recordFeedback({ ...said("key_c"), orgId: "org_other" }, { score: 1 });
    await store.runs.recordFeedback({ ...said("key_c"), runId: "run_none" }, { score: 1 });

    const parts = await console.runs.parts({ orgId, agentId }, runId);
    expect(parts?.feedback).toMatchObject([
      { keyId: "key_a", name: null, score: null, tags: ["slow", "rude"], comment: null },
      { keyId: "key_b", name: "Shop", score: 1, tags: [], comment: null },
    ]);
    await store.runs.recordFeedback(said("key_a"), { comment: "Wrong\u0000 order" });
    expect((await console.runs.parts({ orgId, agentId }, runId))?.feedback[0]?.comment).toBe("Wrong\u0000 order");
  });

  test("a key deletes its feedback, and nothing of others", async () => {
    await using world = await openWorld(place);
    const { store, agentId, orgId, console } = world;
    const { runId } = await world.start({});
    const said = (keyId: string) => ({ runId, orgId, keyId });
    await store.runs.recordFeedback(said("key_a"), { score: 1 });
    await store.runs.recordFeedback(said("key_b"), { score: 1 });

    await store.runs.deleteFeedback({ ...said("key_b"), orgId: "org_other" });
    await store.runs.deleteFeedback(said("key_a"));
    await store.runs.deleteFeedback(said("key_a"));

    expect((await console.runs.parts({ orgId, agentId }, runId))?.feedback).toMatchObject([{ keyId: "key_b" }]);
  });

  test("runs are found by the score and the tags of their feedback", async () => {
    await using world = await openWorld(place);
    const { store, agentId, orgId, console } = world;
    const ids: Record<string, string> = {};
    for (const name of ["good", "bad", "noted", "silent"]) ids[name] = (await world.start({})).runId;
    const say = (name: string, keyId: string, said: Feedback) =>
      store.runs.recordFeedback({ runId: ids[name]!, orgId, keyId }, said);
    await say("good", "key_a", { score: 0.1, tags: ["on time"] });
    await say("bad", "key_a", { score: 1 });
    await say("bad", "key_a", { score: -1, tags: ["late", "a_b"] });
    await say("noted", "key_b", { score: 0, comment: "on time" });

    const found = async (filter: RunFilter) => {
      const { items } = await console.runs.list({ orgId, agentId }, { limit: 9, ...filter });
      return Object.keys(ids).filter((name) => items.some(({ runId }) => runId === ids[name]));
    };
    expect(await found({ feedback: "good" })).toEqual(["good"]);
    expect(await found({ feedback: "bad" })).toEqual(["bad"]);
    expect(await found({ feedback: "neutral" })).toEqual(["noted"]);
    expect(await found({ feedback: "any" })).toEqual(["good", "bad", "noted"]);
    expect(await found({ tag: "on time" })).toEqual(["good"]);
    expect(await found({ tag: "a%b" })).toEqual([]);
    expect(await found({ tag: "LATE" })).toEqual([]);

    await say("silent", "key_b", { tags: ["late", "late"] });
    await say("silent", "key_c", { tags: ["late"] });
    const { tags } = await console.runs.values({ orgId, agentId }, {});
    expect(tags[0]).toEqual({ value: "late", runs: 2 });
    expect(tags.map(({ value }) => value).toSorted()).toEqual(["a_b", "late", "on time"]);
    expect((await console.runs.values({ orgId, agentId: "agt_other" }, {})).tags).toEqual([]);
    expect((await console.runs.values({ orgId, agentId }, { to: 1 })).tags).toEqual([]);
  });

  test("feedback is erased with its thread, and with old runs", async () => {
    await using world = await openWorld(place);
    const { store, agentId, orgId } = world;
    const erased = await world.start({});
    const old = await world.start({});
    await world.finish(old);
    for (const { runId } of [erased, old])
      await store.runs.recordFeedback({ runId, orgId, keyId: "key_a" }, { score: 1 });
    const left = async () =>
      (await store.engine.db.selectFrom("feedback").select("run_id").execute()).map(({ run_id }) => run_id);

    await store.threads.erase(agentId, erased.threadId);
    expect(await left()).toEqual([old.runId]);
    world.clock.advance(31 * DAY_MS);
    await store.sweep({ days: 30 });
    expect(await left()).toEqual([]);
  });
}
