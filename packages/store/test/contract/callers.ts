import { expect, test } from "vitest";
import { callerIdsOf } from "@patchbay/engine/ports/callers";
import { requestOf, waiting } from "./asking-runs.ts";
import { openWorld, sampleRequest, type MakePlace, type World } from "./world.ts";

const idsOf = (subject: string, issuer = "https://id.example") => callerIdsOf({ issuer, subject });
const ada = { callers: idsOf("ada") };
const eve = { callers: idsOf("eve") };
const of = ({ callers }: typeof ada) => ({ callerId: callers[0] });
/** As versions stored it that did not keep the issuer. */
const former = { callerId: callerIdsOf({ subject: "ada" })[0] };

const ids = ({ items }: { items: { threadId: string }[] }) => items.map(({ threadId }) => threadId);

/** The next thread of the world, a second later, with one run. */
async function began(world: World, threadId: string, more: Parameters<World["start"]>[0] = {}) {
  world.clock.advance(1_000);
  return await world.start({ threadId, newThread: true, sessionId: "s", ...more });
}

export function callerContract(place: MakePlace): void {
  test.each([{}, { roles: ["clerk"] }])("with %j, a caller lists the threads that it began, in pages", async (to) => {
    await using world = await openWorld(place);
    const { threads } = world.store;
    const request = sampleRequest({ role: "clerk" });
    await began(world, "thr_1", { request, ...former });
    await began(world, "thr_2", { request, ...of(eve) });
    await began(world, "thr_3", { request });
    await began(world, "thr_4", { request, ...of(ada) });
    await began(world, "thr_5", { request, callerId: idsOf("ada", "https://id.other")[0] });
    await began(world, "thr_6", { request, ...former });
    const list = (more: object) => threads.list(world.agentId, { limit: 9, ...to, ...more });

    expect(ids(await list({}))).toHaveLength(6);
    expect(ids(await list(ada))).toEqual(["thr_6", "thr_4", "thr_1"]);
    expect(ids(await list({ ...ada, sessionId: "s" }))).toEqual(["thr_6", "thr_4", "thr_1"]);
    expect(ids(await list({ ...eve, sessionId: "s" }))).toEqual(["thr_2"]);
    const pages: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await list({ ...ada, limit: 1, ...(cursor !== undefined && { cursor }) });
      pages.push(...ids(page));
      cursor = page.nextCursor;
    }
    expect(pages).toEqual(["thr_6", "thr_4", "thr_1"]);
  });

  test("a thread is that of its first run's caller, also after runs of others", async () => {
    await using world = await openWorld(place);
    const { threads } = world.store;
    const { threadId } = await world.start({ ...of(ada), request: sampleRequest({ query: "mine" }) });
    await world.start({ threadId, request: sampleRequest({ role: "manager", query: "of the key" }) });
    await world.start({ threadId, ...of(eve), request: sampleRequest({ role: "clerk", query: "of eve" }) });
    const read = async (to: object) =>
      (await threads.get(world.agentId, threadId, { limit: 9, ...to }))?.messages.map(({ content }) => content);

    expect(await read({})).toEqual(["mine", "of the key", "of eve"]);
    expect(await read(ada)).toEqual(["mine"]);
    expect(await read({ ...ada, roles: ["manager"] })).toEqual(["mine"]);
    expect(await read(eve)).toBeUndefined();
    expect(await read({ ...eve, roles: ["clerk"] })).toBeUndefined();
    expect(ids(await threads.list(world.agentId, { limit: 9, roles: ["clerk"], ...eve }))).toEqual([]);
    expect(ids(await threads.list(world.agentId, { limit: 9, roles: ["clerk"], ...ada }))).toEqual([threadId]);
    const known = (to: typeof ada) =>
      Promise.all([threads.exists(world.agentId, threadId, to), threads.readable(world.agentId, threadId, to)]);
    expect([await known(ada), await known(eve)]).toEqual([
      [true, "all"],
      [false, "none"],
    ]);
  });

  test("a thread that was begun without a caller has none, also after a caller's run", async () => {
    await using world = await openWorld(place);
    const { threads } = world.store;
    const { threadId } = await world.start();
    const run = await world.start({ threadId, ...of(ada) });

    expect(await threads.exists(world.agentId, threadId, ada)).toBe(false);
    expect(await threads.get(world.agentId, threadId, { limit: 9, ...ada })).toBeUndefined();
    expect(await world.store.runs.facts(world.agentId, run.runId)).toMatchObject({ callerId: ada.callers[0] });
    expect(await world.store.runs.get(world.agentId, run.runId)).toMatchObject({ callerId: ada.callers[0] });
  });

  test("a key of a thread is found in the scope of now, then in the former one, by its caller only", async () => {
    await using world = await openWorld(place);
    const { threads } = world.store;
    const key = { scope: "new", formerScope: "old", id: "chat" };
    const old = await world.start({ ...former, threadKey: { scope: "old", id: "chat" } });
    const find = (to?: typeof ada) => threads.ofKey(world.agentId, key, to);

    expect([await find(ada), await find(eve), await find()]).toEqual([old.threadId, undefined, old.threadId]);
    const own = await world.start({ ...of(ada), threadKey: { scope: "new", id: "chat" } });
    expect([await find(ada), await find(eve)]).toEqual([own.threadId, undefined]);
  });

  test("of two callers who bring a new key at the same time, each makes a thread of its own", async () => {
    await using world = await openWorld(place);
    const stores = [world.store, await world.another()];
    const asked = [ada, eve].map((to) => world.newRun({ ...of(to), threadKey: { scope: to.callers[0], id: "chat" } }));

    const started = await Promise.all(asked.map((run, i) => stores[i]!.runs.start(run)));

    expect(started.map(({ kind }) => kind)).toEqual(["started", "started"]);
    const keyOf = (to: typeof ada) => ({ scope: to.callers[0], id: "chat" });
    const found = (to: typeof ada, by: typeof ada) => world.store.threads.ofKey(world.agentId, keyOf(to), by);
    expect(await found(ada, ada)).toBe(asked[0]!.threadId);
    expect(await found(eve, eve)).toBe(asked[1]!.threadId);
    expect(await found(ada, eve)).toBeUndefined();
  });

  test("approvals are listed for the caller of their run, and for who may decide them", async () => {
    await using world = await openWorld(place);
    const { approvals } = world.store;
    await waiting(world, ["a"], {}, "key_1", of(ada));
    await waiting(world, ["nobodys"]);
    const list = async (to: object) =>
      (await approvals.list({ agentId: world.agentId, limit: 9, ...to })).items.map(({ approvalId }) => approvalId);
    const decider = (roles?: string[], ofRoles?: string[]) => list({ visibleTo: eve, orDecidedBy: { roles, ofRoles } });

    expect(await approvals.get(world.agentId, "apr_a")).toMatchObject({ callerId: ada.callers[0] });
    expect(await list({ visibleTo: ada })).toEqual(["apr_a"]);
    expect(await list({ visibleTo: { ...ada, roles: ["guest"] } })).toEqual([]);
    expect(await list({ visibleTo: { ...ada, roles: [] } })).toEqual([]);
    expect(await list({ visibleTo: eve })).toEqual([]);
    expect(await decider()).toHaveLength(2);
    expect(await decider(["manager"])).toHaveLength(2);
    expect(await decider(["manager"], ["clerk"])).toHaveLength(2);
    expect(await decider(["manager"], ["guest"])).toEqual([]);
    expect(await decider(["manage"])).toEqual([]);
    expect(await decider([])).toEqual([]);
    const run = await world.start(of(ada));
    const approval = { ...requestOf(world, "own"), by: ["caller"] };
    await world.store.runs.commit(run, { approvals: { requested: [approval] } });
    expect(await decider()).toHaveLength(2);
    expect(await list({ visibleTo: ada })).toHaveLength(2);
  });

  test("a caller lists its runs, in pages", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    await began(world, "thr_1", former);
    await began(world, "thr_2", of(eve));
    await began(world, "thr_3");
    await began(world, "thr_4", of(ada));
    const list = (more: object) => runs.page(world.agentId, { limit: 9, ...more });

    expect(ids(await list({}))).toHaveLength(4);
    expect(ids(await list(ada))).toEqual(["thr_4", "thr_1"]);
    expect(ids(await list({ ...eve, sessionId: "s" }))).toEqual(["thr_2"]);
    expect(ids(await list({ ...eve, threadId: "thr_1" }))).toEqual([]);
    expect(ids(await list({ ...ada, status: "running", threadId: "thr_1" }))).toEqual(["thr_1"]);
    const first = await list({ ...ada, limit: 1 });
    expect(ids(await list({ ...ada, limit: 1, cursor: first.nextCursor }))).toEqual(["thr_1"]);
  });

  test("a run that was left is taken by its caller only", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const run = await world.start(of(ada));
    await runs.detach(run, "call");

    expect(await runs.reattach(world.agentId, "call", eve)).toBeUndefined();
    expect(await runs.reattach(world.agentId, "call", ada)).toMatchObject({ runId: run.runId });
  });
}
