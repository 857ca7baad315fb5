import { expect, test, vi } from "vitest";
import type { Principal, RunHandle } from "../../src/run/api.ts";
import { openStore } from "@patchbay/store/open";
import { type CoreOptions, expire, memoryStore, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const MANIFEST = manifestOf({ open: "everyone" });
const other = { orgId: "org_2", agentId: "agt_2" };

/** Two organisations, and a model that answers each query only after `answer` was called for it. */
async function start(options: Partial<CoreOptions> = {}) {
  const store = options.store ?? (await openStore("sqlite::memory:"));
  const asked: string[] = [];
  const answers = new Map<string, () => void>();
  const { catalog } = scriptedModel(({ messages }) => {
    const query = messages.findLast(({ role }) => role === "user");
    const text = query?.role === "user" ? query.text : "";
    asked.push(text);
    return { text: `Done: ${text}.`, until: new Promise<void>((resolve) => answers.set(text, resolve)) };
  });
  const { gateway } = fakeGateway(MANIFEST, () => ok(1));
  const core = await startCore({ models: catalog, gateway, limits: { runsPerOrganisation: 2 }, ...options, store });
  if (!(await store.accounts.getOrg("org_2"))) {
    await store.accounts.createOrg({ orgId: "org_2", name: "Other", tier: "sandbox" });
    await store.accounts.createAgent({ agentId: "agt_2", orgId: "org_2", name: "Other", instructions: "" });
    await store.runtimes.saveManifest("agt_2", "hash", MANIFEST);
  }
  return {
    ...core,
    asked,
    start: (query: string, as: Partial<Principal> = {}, more: { threadId?: string } = {}) =>
      core.runs.start({ ...core.caller, ...as }, { query, analysisMode: false, maxTokens: 100, ...more }),
    async answer(query: string) {
      await expect.poll(() => asked).toContain(query);
      answers.get(query)?.();
    },
    statusOf: async ({ agentId, runId }: RunHandle) => (await store.runs.get(agentId, runId))?.status,
    async [Symbol.asyncDispose]() {
      await core[Symbol.asyncDispose]();
      if (!options.store) await store.close();
    },
  };
}

test("runs above the limit of an organisation wait in order, while runs of others continue", async () => {
  await using system = await start();
  const runs = [];
  for (const query of ["a1", "a2", "a3", "a4"]) runs.push(await system.start(query));
  const ofOther = await system.start("b1", other);

  await system.answer("b1");
  expect(await system.result(ofOther)).toMatchObject({ success: true });
  expect(await Promise.all(runs.map(system.statusOf))).toEqual(["running", "running", "queued", "queued"]);
  expect(system.asked).toEqual(["a1", "a2", "b1"]);

  for (const query of ["a2", "a3", "a1", "a4"]) await system.answer(query);
  for (const run of runs) expect(await system.result(run)).toMatchObject({ success: true });
  expect(system.asked).toEqual(["a1", "a2", "b1", "a3", "a4"]);
});

test("many queries at the same time use no more than the available slots", async () => {
  await using system = await start();

  const runs = await Promise.all(Array.from({ length: 20 }, (_, n) => system.start(`q${n}`)));

  const statuses = await Promise.all(runs.map(system.statusOf));
  expect(statuses.filter((status) => status === "running")).toHaveLength(2);
  for (let done = 0; done < 20; done++) {
    expect(new Set(system.asked).size).toBeLessThanOrEqual(done + 2);
    await expect.poll(() => system.asked.length).toBeGreaterThan(done);
    await system.answer(system.asked[done]!);
    // Its slot is free after its end was stored.
    await system.result(runs[Number(system.asked[done]!.slice(1))]!);
  }
  for (const run of runs) expect(await system.result(run)).toMatchObject({ success: true });
});

test("a query that arrives when a slot is free waits behind the waiting ones", async () => {
  await using system = await start({ limits: { runsPerOrganisation: 1 } });
  const first = await system.start("first");
  const [second, third] = [await system.start("second"), await system.start("third")];

  await system.answer("first");
  await system.result(first);
  const fourth = await system.start("fourth");
  for (const query of ["second", "third", "fourth"]) await system.answer(query);

  for (const run of [second, third, fourth]) expect(await system.result(run)).toMatchObject({ success: true });
  expect(system.asked).toEqual(["first", "second", "third", "fourth"]);
});

test("a query that arrives while waiting runs are claimed does not overtake them", async () => {
  await using store = await memoryStore();
  await using system = await start({ store });
  const runs = [];
  for (const query of ["a1", "a2", "a3", "a4"]) runs.push(await system.start(query));
  const claims = Promise.withResolvers<void>();
  const { claim } = store.runs;
  const claimed = vi.spyOn(store.runs, "claim").mockImplementation(async (options) => {
    await claims.promise;
    return claim(options);
  });

  await system.answer("a1");
  await system.result(runs[0]!);
  await expect.poll(() => claimed).toHaveBeenCalled();
  await system.answer("a2");
  await system.result(runs[1]!);
  const late = await system.start("a5");
  expect(await system.statusOf(late)).toBe("queued");
  claims.resolve();
  for (const query of ["a3", "a4", "a5"]) await system.answer(query);

  for (const run of [...runs, late]) expect(await system.result(run)).toMatchObject({ success: true });
  expect(system.asked.indexOf("a5")).toBe(4);
});

test("the next run of a thread waits for a slot too", async () => {
  await using system = await start({ limits: { runsPerOrganisation: 1 } });
  const first = await system.start("first");
  const waiting = await system.start("waiting");
  const next = await system.start("next", {}, { threadId: first.threadId });

  for (const query of ["first", "waiting", "next"]) await system.answer(query);

  for (const run of [first, waiting, next]) expect(await system.result(run)).toMatchObject({ success: true });
  expect(system.asked).toEqual(["first", "waiting", "next"]);
});

test("a run that waits for a slot ends at its deadline", async () => {
  await using system = await start({ limits: { runsPerOrganisation: 1 } });
  await system.start("first");

  const waiting = await system.start("waiting");

  expect(await system.statusOf(waiting)).toBe("queued");
  await expire(system.store, waiting);
  expect(await system.result(waiting)).toMatchObject({ code: "deadline_exceeded" });
});

test("another replica claims runs that wait for a slot here", async () => {
  await using store = await memoryStore();
  await using full = await start({ store, limits: { runsPerOrganisation: 1 } });
  await full.start("first");
  const waiting = await full.start("waiting");

  await using free = await start({ store, owner: "replica-2" });
  await free.answer("waiting");

  expect(await free.result(waiting)).toMatchObject({ success: true });
});
