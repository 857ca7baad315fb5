import { expect, test } from "vitest";
import { type MakePlace, openWorld } from "./world.ts";

const DAY_MS = 24 * 3_600_000;

export function requestKeyContract(place: MakePlace): void {
  const request = { actorId: "mem_1", key: "k", bodyHash: "b" };

  test("of concurrent requests with a key one takes it, and a repetition gets what was stored", async () => {
    await using world = await openWorld(place);
    const keys = world.store.requestKeys;
    const asked = { ...request, orgId: world.orgId };

    const taken = await Promise.all(Array.from({ length: 5 }, () => keys.take(asked)));
    expect(taken.filter((earlier) => earlier === undefined)).toHaveLength(1);
    for (const earlier of taken) expect([undefined, { sameBody: true }]).toContainEqual(earlier);
    await keys.finish(asked, { answer: null });

    expect(await keys.take(asked)).toEqual({ sameBody: true, answer: { answer: null } });
    expect(await keys.take({ ...asked, bodyHash: "other" })).toMatchObject({ sameBody: false });
    expect(await keys.take({ ...asked, actorId: "mem_2" })).toBeUndefined();
  });

  test("a key that was freed, or that is a day old, is taken again", async () => {
    await using world = await openWorld(place);
    const keys = world.store.requestKeys;
    const asked = { ...request, orgId: world.orgId };
    await keys.take(asked);
    await keys.free(asked);
    expect(await keys.take({ ...asked, bodyHash: "other" })).toBeUndefined();
    await keys.finish(asked, "first");

    world.clock.advance(DAY_MS);

    expect(await keys.take(asked)).toBeUndefined();
    expect(await keys.take(asked)).toEqual({ sameBody: true });
  });

  test("an expired key is swept", async () => {
    await using world = await openWorld(place);
    const keys = world.store.requestKeys;
    await keys.take({ ...request, orgId: world.orgId, key: "old" });
    world.clock.advance(DAY_MS + 1);
    await keys.take({ ...request, orgId: world.orgId, key: "young" });

    await world.store.sweep({ days: 30 });

    const left = await world.store.engine.db.selectFrom("request_keys").select("key").execute();
    expect(left).toEqual([{ key: "young" }]);
  });
}
