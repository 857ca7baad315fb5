import type { Manifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { openWorld, type MakePlace, type World } from "./world.ts";

const DAY_MS = 86_400_000;

/** Longer than entries may still appear with an earlier time. */
const SETTLED_MS = 11_000;

export function auditContract(place: MakePlace): void {
  test("settled entries come oldest first, each once over all pages, and those of the last seconds later", async () => {
    await using world = await openWorld(place);
    const { store, orgId, clock } = world;
    const record = (action: string, whose = orgId) => store.audit.record([{ orgId: whose, action }]);
    await store.accounts.createOrg({ orgId: "org_2", name: "Other", tier: "sandbox" });
    await record("foreign", "org_2");
    for (const action of ["a", "b", "c"]) await record(action);
    const since = clock.now() + 1;
    clock.advance(1);
    await record("d");
    clock.advance(SETTLED_MS);
    await record("e");
    const actions = (rows: { action: string }[]) => rows.map(({ action }) => action);

    const first = await store.audit.settled(orgId, { limit: 3 });
    const next = () => store.audit.settled(orgId, { limit: 3, cursor: first.at(-1)!.cursor });

    expect(actions(first)).toEqual(["a", "b", "c"]);
    expect(actions(await next())).toEqual(["d"]);
    clock.advance(SETTLED_MS);
    expect(actions(await next())).toEqual(["d", "e"]);
    expect(actions(await store.audit.settled(orgId, { limit: 9, since, until: clock.now() - SETTLED_MS }))).toEqual([
      "d",
    ]);
    await expect(store.audit.settled(orgId, { limit: 1, cursor: "x" })).rejects.toThrow("cursor");
  });

  test("audit entries of a run name its owner, newest first", async () => {
    await using world = await openWorld(place);
    const run = await world.start({
      audit: [{ action: "run.started", role: "clerk", manifestHash: "h1", detail: { steps: 1 } }],
    });
    await world.store.runs.commit(run, {
      audit: [
        { action: "call.denied", callId: "c1", functionName: "refund", rule: "roles" },
        { action: "call.done", callId: "c2" },
      ],
    });
    await world.store.audit.record([{ orgId: world.orgId, agentId: world.agentId, action: "agent.updated" }]);

    const all = await list(world, {});
    const ofRun = await list(world, { runId: run.runId });

    expect(all.map(({ action }) => action)).toEqual(["agent.updated", "call.done", "call.denied", "run.started"]);
    const whose = { agentId: world.agentId, runId: run.runId, keyId: "key_1", at: world.clock.now() };
    expect(ofRun).toMatchObject([
      { ...whose, action: "call.done" },
      { ...whose, action: "call.denied", callId: "c1", functionName: "refund", rule: "roles" },
      { ...whose, action: "run.started", role: "clerk", manifestHash: "h1", detail: { steps: 1 } },
    ]);
    expect(await list(world, { agentId: "agt_2" })).toEqual([]);
    await world.store.audit.record([]);
  });

  test("entries are found by role, function, action, group of actions and time", async () => {
    await using world = await openWorld(place);
    const about = { orgId: world.orgId, agentId: world.agentId };
    const { audit } = world.store;
    await audit.record([{ ...about, action: "call.denied", role: "clerk", functionName: "refund" }]);
    world.clock.advance(1_000);
    const later = world.clock.now();
    await audit.record([{ ...about, action: "call.succeeded", role: "manager", functionName: "refund" }]);
    await audit.record([{ ...about, action: "callback", functionName: "look_up" }]);

    const actions = async (filter: Filter) => (await list(world, filter)).map(({ action }) => action);

    expect(await actions({ role: "clerk" })).toEqual(["call.denied"]);
    expect(await actions({ functionName: "refund" })).toEqual(["call.succeeded", "call.denied"]);
    expect(await actions({ action: "call.denied" })).toEqual(["call.denied"]);
    expect(await actions({ action: "call" })).toEqual(["call.succeeded", "call.denied"]);
    for (const action of ["Call", "c%", "cal_", "", "call."]) expect(await actions({ action }), action).toEqual([]);
    expect(await actions({ since: later })).toEqual(["callback", "call.succeeded"]);
    expect(await actions({ since: later, role: "clerk" })).toEqual([]);
  });

  test("an organisation's entries are what was administered, not its runs and queries", async () => {
    await using world = await openWorld(place);
    const { orgId, agentId } = world;
    await world.start({ audit: [{ action: "run.started" }] });
    await world.store.accounts.createOrg({ orgId: "org_2", name: "Other", tier: "starter" });
    await world.store.audit.record([
      { orgId, action: "credits.granted" },
      { orgId, agentId, action: "key.created" },
      { orgId, agentId, action: "query.refused", rule: "role_not_allowed" },
      { orgId: "org_2", action: "credits.granted" },
    ]);

    const { items } = await world.store.audit.list({ orgId, limit: 10 });

    expect(items.map(({ action }) => action)).toEqual(["key.created", "credits.granted"]);
  });

  test("entries are read page by page, none twice and none left out, though many are of one moment", async () => {
    await using world = await openWorld(place);
    const about = { orgId: world.orgId, agentId: world.agentId };
    for (let i = 0; i < 7; i++) {
      if (i % 3 === 0) world.clock.advance(1);
      await world.store.audit.record([{ ...about, action: "step", functionName: `f${i}` }]);
    }

    const seen: (string | undefined)[] = [];
    let cursor: string | undefined;
    do {
      const page = await world.store.audit.list({ agentId: world.agentId, limit: 3, ...(cursor ? { cursor } : {}) });
      expect(page.items.length).toBeLessThanOrEqual(3);
      seen.push(...page.items.map(({ functionName }) => functionName));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);

    expect(seen).toEqual(["f6", "f5", "f4", "f3", "f2", "f1", "f0"]);
    await expect(
      world.store.audit.list({ agentId: world.agentId, limit: 3, cursor: "nonsense" }),
    ).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("audit entries outlive their runs and are deleted by their own age, with their function sets", async () => {
    await using world = await openWorld(place);
    const manifest: Manifest = { name: "desk", preparesContext: false, functions: [] };
    await world.store.runtimes.saveManifest(world.agentId, "h1", manifest);
    const run = await world.start({ manifestHash: "h1", audit: [{ action: "run.started", manifestHash: "h1" }] });
    await world.finish(run);
    await world.store.audit.record([{ orgId: world.orgId, action: "org.created" }]);
    world.clock.advance(31 * DAY_MS);
    await world.store.audit.record([{ orgId: world.orgId, agentId: world.agentId, action: "agent.updated" }]);

    await world.store.sweep({ days: 30 });
    const swept = [await list(world, {}), await world.store.runtimes.getManifest(world.agentId, "h1")];
    await world.store.sweep({ days: 30, auditDays: 31 });
    const stillThere = await list(world, {});
    world.clock.advance(1);
    await world.store.sweep({ days: 30, auditDays: 31 });

    expect(swept).toEqual([[expect.anything(), expect.anything()], manifest]);
    expect(stillThere).toHaveLength(2);
    expect(await world.place.rows("select action from audit order by created_at, id")).toEqual([
      { action: "agent.updated" },
      { action: "audit.deleted" },
    ]);
    expect(await world.store.runtimes.getManifest(world.agentId, "h1")).toBeUndefined();
  });
}

type Filter = Parameters<World["store"]["audit"]["list"]>[0] extends infer All ? Partial<Omit<All, "limit">> : never;

async function list({ store, agentId }: World, filter: Filter) {
  return (await store.audit.list({ agentId, limit: 50, ...filter })).items;
}
