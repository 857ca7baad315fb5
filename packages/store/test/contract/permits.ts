import { expect, test } from "vitest";
import type { PermitStore } from "@patchbay/engine/ports/store/permit-store";
import { type MakePlace, openWorld, type World } from "./world.ts";

const TIMES = { limit: 2, holdMs: 30_000, waitMs: 5_000 };

function permitOf({ agentId, orgId }: World, callId: string, functionName = "charge") {
  return { orgId, agentId, functionName, callId, start: 1 };
}

export function permitContract(place: MakePlace): void {
  test("of 20 calls over two stores, two get the permits of a function", async () => {
    await using world = await openWorld(place);
    const stores: PermitStore[] = [world.store.permits, (await world.another()).permits];
    const calls = Array.from({ length: 20 }, (_, i) => permitOf(world, `c${10 + i}`));

    for (let round = 0; round < 3; round++) {
      const granted = await Promise.all(calls.map((call, i) => stores[i % 2]!.acquire(call, TIMES)));
      expect(granted.filter(Boolean)).toHaveLength(2);
    }
    expect(await world.store.permits.acquire(permitOf(world, "c1", "refund"), TIMES)).toBe(true);
  });

  test("a released permit goes to the call that has waited longest", async () => {
    await using world = await openWorld(place);
    const { permits } = world.store;
    const [first, second, third, last] = ["c4", "c3", "c2", "c1"].map((callId) => permitOf(world, callId));
    const one = { ...TIMES, limit: 1 };
    expect(await permits.acquire(first!, one)).toBe(true);
    for (const waiting of [second!, third!, last!]) {
      world.clock.advance(1);
      expect(await permits.acquire(waiting, one)).toBe(false);
    }

    await permits.release(first!);

    expect(await permits.acquire(last!, one)).toBe(false);
    expect(await permits.acquire(third!, one)).toBe(false);
    expect(await permits.acquire(second!, one)).toBe(true);
    await permits.release(third!);
    await permits.release(second!);
    expect(await permits.acquire(last!, one)).toBe(true);
  });

  test("the permit and the place of a process that died end by themselves", async () => {
    await using world = await openWorld(place);
    const { permits } = world.store;
    const one = { ...TIMES, limit: 1 };
    await permits.acquire(permitOf(world, "c1"), one);
    world.clock.advance(1);
    await permits.acquire(permitOf(world, "c2"), one);
    world.clock.advance(1);
    const waiting = permitOf(world, "c3");

    world.clock.advance(20_000);
    await permits.hold(permitOf(world, "c1"), one.holdMs);
    expect(await permits.acquire(waiting, one)).toBe(false);
    world.clock.advance(one.holdMs);

    expect(await permits.acquire(waiting, one)).toBe(true);
    expect(await permits.acquire(permitOf(world, "c2"), one)).toBe(false);
  });

  test("a permit that its process holds outlasts a jump of the clock", async () => {
    await using world = await openWorld(place);
    const { permits } = world.store;
    const one = { ...TIMES, limit: 1 };
    await permits.acquire(permitOf(world, "c1"), one);

    world.clock.advance(10 * one.holdMs);

    expect(await permits.acquire(permitOf(world, "c2"), { ...one, held: ["c1"] })).toBe(false);
    expect(await permits.acquire(permitOf(world, "c2"), one)).toBe(true);
  });

  test("a repeated call keeps its permit, and each start of a handler has its own", async () => {
    await using world = await openWorld(place);
    const { permits } = world.store;
    const call = permitOf(world, "c1");

    expect(await permits.acquire(call, TIMES)).toBe(true);
    expect(await permits.acquire(call, TIMES)).toBe(true);
    expect(await permits.acquire({ ...call, start: 2 }, TIMES)).toBe(true);
    expect(await permits.acquire(permitOf(world, "c2"), TIMES)).toBe(false);
  });
}
