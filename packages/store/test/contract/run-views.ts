import { expect, test } from "vitest";
import { type MakePlace, openWorld } from "./world.ts";

export function runViewContract(place: MakePlace): void {
  test("a member lists own views and shared ones of others, oldest first", async () => {
    await using world = await openWorld(place);
    const { orgId, agentId, clock } = world;
    const { views } = world.store;
    const of = { orgId, agentId, search: { q: "late" } };
    await views.add({ ...of, viewId: "v1", memberId: "ann", name: "Mine", shared: false });
    clock.advance(1);
    await views.add({ ...of, viewId: "v2", memberId: "bob", name: "Ours", shared: true });
    clock.advance(1);
    await views.add({ ...of, viewId: "v3", memberId: "bob", name: "His", shared: false });
    const listed = async (memberId: string, org = orgId, agent = agentId) =>
      (await views.list(org, agent, memberId)).map(({ viewId }) => viewId);

    expect(await listed("ann")).toEqual(["v1", "v2"]);
    expect(await listed("bob")).toEqual(["v2", "v3"]);
    expect(await listed("ann", "org_2")).toEqual([]);
    expect(await listed("ann", orgId, "agt_2")).toEqual([]);
    expect((await views.list(orgId, agentId, "ann"))[0]).toEqual({
      ...of,
      viewId: "v1",
      memberId: "ann",
      name: "Mine",
      shared: false,
    });
  });

  test("a view is removed by its author, and a shared one by who may remove any", async () => {
    await using world = await openWorld(place);
    const { orgId, agentId } = world;
    const { views } = world.store;
    const of = { orgId, agentId, memberId: "bob", name: "x", search: {} };
    for (const [viewId, shared] of [
      ["own", false],
      ["shared", true],
      ["shared2", true],
    ] as const)
      await views.add({ ...of, viewId, shared });
    const remove = (viewId: string, memberId: string, anyShared = false) =>
      views.remove({ viewId, orgId, agentId, memberId, anyShared });

    expect(await remove("own", "ann", true)).toBe(false);
    expect(await remove("shared", "ann")).toBe(false);
    expect(await remove("shared", "ann", true)).toBe(true);
    expect(await remove("shared2", "bob")).toBe(true);
    expect(await views.remove({ viewId: "own", orgId: "org_2", agentId, memberId: "bob", anyShared: true })).toBe(
      false,
    );
    expect(await remove("own", "bob")).toBe(true);
    expect(await remove("own", "bob")).toBe(false);
  });

  test("each member has up to 200 private views of an agent, which has up to 200 shared ones", async () => {
    await using world = await openWorld(place);
    const { orgId, agentId } = world;
    let added = 0;
    const add = (of: { memberId?: string; shared?: boolean; agentId?: string } = {}) =>
      world.store.views.add({
        viewId: `v${added++}`,
        orgId,
        agentId,
        memberId: "ann",
        name: "x",
        shared: false,
        search: {},
        ...of,
      });
    for (let at = 0; at < 200; at++) await add();

    expect(await add()).toBe(false);
    expect(await add({ agentId: "agt_2" })).toBe(true);
    expect(await add({ memberId: "bob" })).toBe(true);
    for (let at = 0; at < 200; at++) expect(await add({ shared: true })).toBe(true);
    expect(await add({ shared: true, memberId: "bob" })).toBe(false);
    expect(await add({ memberId: "bob" })).toBe(true);
  });
}
