import { expect, test } from "vitest";
import { manifestOf } from "../../../engine/test/run/fake-gateway.ts";
import { called, iso } from "./console-samples.ts";
import { openWorld, sampleLink, type MakePlace } from "./world.ts";

const DAY_MS = 86_400_000;

/** What the console reads of functions. */
export function consoleFunctionContract(place: MakePlace): void {
  test("the function set is the connected one, else the one connected last; each keeps its first time", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    const { console } = world;
    const { clock, orgId, agentId } = world;
    const began = clock.now();
    const [old, fresh] = [manifestOf({ a: "everyone" }), manifestOf({ a: "everyone", b: ["x"] })];
    expect(await console.functions.set({ orgId, agentId }, undefined)).toBeUndefined();
    await runtimes.saveManifest(agentId, "h_old", old);
    await runtimes.connectionOpened(sampleLink({ instanceId: "i1", connectionId: "c1", manifestHash: "h_old" }));
    clock.advance(DAY_MS);
    await runtimes.saveManifest(agentId, "h_new", fresh);
    await runtimes.connectionOpened(sampleLink({ instanceId: "i2", connectionId: "c2", manifestHash: "h_new" }));
    await runtimes.connectionClosed("c1");

    const newest = await console.functions.set({ orgId, agentId }, undefined);
    await runtimes.connectionClosed("c2");
    clock.advance(1);
    await runtimes.saveManifest(agentId, "h_old", old);
    await runtimes.connectionOpened(sampleLink({ instanceId: "i3", connectionId: "c3", manifestHash: "h_old" }));
    const again = await console.functions.set({ orgId, agentId }, undefined);
    const first = await console.functions.sets({ orgId, agentId }, { limit: 1 });
    const second = await console.functions.sets({ orgId, agentId }, { limit: 1, cursor: first.nextCursor! });

    const freshSet = { manifestHash: "h_new", manifest: fresh, firstSeenAt: iso(began + DAY_MS) };
    const oldSet = { manifestHash: "h_old", manifest: old, firstSeenAt: iso(began), connected: true };
    expect(newest).toEqual({ ...freshSet, connected: true });
    expect(again).toEqual(oldSet);
    expect(await console.functions.set({ orgId, agentId }, "h_new")).toEqual({ ...freshSet, connected: false });
    expect(await console.functions.set({ orgId, agentId }, "h_none")).toBeUndefined();
    const { manifest: _fresh, ...freshVersion } = { ...freshSet, connected: false, functions: ["a", "b"] };
    const { manifest: _old, ...oldVersion } = { ...oldSet, functions: ["a"] };
    expect(first.items).toEqual([freshVersion]);
    expect(second).toEqual({ items: [oldVersion], nextCursor: null });
  });

  test("figures of a function count its calls in the range, with the duration of allowed ones", async () => {
    await using world = await openWorld(place);
    const from = world.clock.now();
    for (let ms = 1; ms <= 100; ms++) await called(world, "a", { ok: true, value: 1 }, ms * 10);
    await called(world, "a", { ok: false, code: "function_failed", message: "" }, 1_000);
    await called(world, "a", { ok: false, code: "denied", message: "" }, 60_000);
    await called(world, "b", { ok: true, value: 1 }, 5);
    const to = world.clock.now();
    await called(world, "a", { ok: true, value: 1 }, 1);

    const figures = await world.console.functions.figures(world, { from, to });

    const a = figures.get("a")!;
    expect(a).toMatchObject({ calls: 102, failed: 1, denied: 1, lastCalledAt: iso(to - 5) });
    expect(Math.abs(a.p50Ms! - 510) / 510).toBeLessThan(0.05);
    expect(Math.abs(a.p95Ms! - 960) / 960).toBeLessThan(0.05);
    expect([...figures.keys()].toSorted()).toEqual(["a"]);
  });

  test("the history of a function counts its own calls by their end", async () => {
    await using world = await openWorld(place);
    const firstAt = world.clock.now();
    await called(world, "a", { ok: true, value: 1 }, 100);
    await called(world, "a", { ok: false, code: "function_failed", message: "" }, 300);
    await called(world, "b", { ok: true, value: 1 }, 100);
    world.clock.advance(1_500);
    await called(world, "a", { ok: false, code: "denied", message: "" }, 10);
    const { functions } = world.console;
    const range = { from: firstAt, to: firstAt + 3_000 };

    const history = await functions.history(world, "a", range, {
      firstAt,
      widthMs: 1_000,
      count: 3,
    });

    expect(history).toMatchObject([
      { succeeded: 1, failed: 1, denied: 0 },
      { succeeded: 0, failed: 0, denied: 0, p50Ms: null, p95Ms: null },
      { succeeded: 0, failed: 0, denied: 1, p50Ms: null, p95Ms: null },
    ]);
    expect(Math.abs(history[0]!.p50Ms! - 100) / 100).toBeLessThan(0.05);
    expect(Math.abs(history[0]!.p95Ms! - 300) / 300).toBeLessThan(0.05);
    expect(
      await functions.history({ orgId: "org_2", agentId: world.agentId }, "a", range, {
        firstAt,
        widthMs: 3_000,
        count: 1,
      }),
    ).toEqual([expect.objectContaining({ succeeded: 0, failed: 0, denied: 0, p50Ms: null, p95Ms: null })]);
  });

  test("calls are counted by function and role, allowed and denied ones separately", async () => {
    await using world = await openWorld(place);
    const since = world.clock.now();
    await called(world, "a", { ok: true, value: 1 }, 1, "clerk");
    await called(world, "a", { ok: false, code: "function_failed", message: "" }, 1, "clerk");
    await called(world, "a", { ok: false, code: "unknown_function", message: "", rule: "roles" }, 1);

    await called(world, "a", { ok: true, value: 1 }, 1, "boss");
    await called(world, "b", { ok: true, value: 1 }, 1, "clerk");
    const read = (asked: { from?: number; functions?: string[]; roles?: string[]; limit?: number } = {}) => {
      const { from = since, functions = ["a"], roles = ["clerk"], limit = 10 } = asked;
      const range = { from, to: world.clock.now() + 1 };
      return world.console.access.callsByRole(world, { range, functions, roles, limit });
    };

    const ended = { clerk: since + 2, none: since + 3 };
    const clerk = { functionName: "a", role: "clerk", calls: 2, denied: 0, lastAt: ended.clerk };
    const none = { functionName: "a", role: null, calls: 0, denied: 1, lastAt: ended.none };
    expect(await read()).toEqual({ items: [clerk, none], cut: false });
    expect(await read({ limit: 1 })).toEqual({ items: [clerk], cut: true });
    expect(await read({ roles: [] })).toEqual({ items: [none], cut: false });
    expect(await read({ functions: [] })).toEqual({ items: [], cut: false });
    expect(await read({ from: world.clock.now() + 1 })).toEqual({ items: [], cut: false });
  });
}
