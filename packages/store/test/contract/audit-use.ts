import { expect, test } from "vitest";
import { openWorld, type MakePlace, type World } from "./world.ts";

const DAY_MS = 86_400_000;
const SETTLED_MS = 11_000;

export function auditUseContract(place: MakePlace): void {
  test("sums of calls are the same before and after their entries are sealed", async () => {
    await using world = await openWorld(place);
    await record(world, "call.succeeded", { role: "clerk", functionName: "look_up" });
    await record(world, "call.failed", { role: "clerk", functionName: "look_up", rule: "function_failed" });
    await record(world, "call.denied", { role: "clerk", functionName: "refund", rule: "roles" });
    await record(world, "call.succeeded", { functionName: "look_up" });
    await record(world, "call.redacted", { role: "clerk", functionName: "look_up" });
    await record(world, "run.started", { role: "clerk" });
    const at = world.clock.now();

    const fresh = await used(world, 0);
    world.clock.advance(SETTLED_MS);
    await world.store.audit.seal();
    const sealed = await used(world, 0);
    await record(world, "call.succeeded", { role: "clerk", functionName: "look_up" });
    const both = await used(world, 0);

    const none = { functionName: "look_up", role: null, outcome: "called", calls: 1, allCalls: 1, lastAt: at };
    const clerk = { ...none, role: "clerk", calls: 2, allCalls: 2 };
    const denied = { ...none, functionName: "refund", role: "clerk", outcome: "roles" };
    expect(fresh).toEqual([none, clerk, denied]);
    expect(sealed).toEqual(fresh);
    expect(both).toEqual([none, { ...clerk, calls: 3, allCalls: 3, lastAt: world.clock.now() }, denied]);
  });

  test("a period counts from the beginning of its day, and the last call is from the whole log", async () => {
    await using world = await openWorld(place);
    await record(world, "call.succeeded", { role: "clerk", functionName: "look_up" });
    const first = world.clock.now();
    world.clock.advance(10 * DAY_MS);
    await world.store.audit.seal();

    const [row] = await used(world, world.clock.now() - DAY_MS);

    expect(row).toMatchObject({ calls: 0, allCalls: 1, lastAt: first });
    expect(await used(world, first + 1)).toMatchObject([{ calls: 1 }]);
  });

  test("sums are of one agent", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.createAgent({ agentId: "agt_2", orgId: world.orgId, name: "Two", instructions: "" });
    await record(world, "call.succeeded", { functionName: "look_up" });
    world.clock.advance(SETTLED_MS);
    await world.store.audit.seal();
    await record(world, "call.succeeded", { functionName: "look_up" });

    expect(await world.store.audit.use("agt_2", 0)).toEqual([]);
    expect(await world.store.audit.use("agt_3", 0)).toEqual([]);
  });

  test("sums are deleted with their entries", async () => {
    await using world = await openWorld(place);
    await record(world, "call.succeeded", { functionName: "look_up" });
    world.clock.advance(3 * DAY_MS);

    await world.store.sweep({ days: 30, auditDays: 2 });

    expect(await used(world, 0)).toEqual([]);
  });
}

type About = { role?: string; functionName?: string; rule?: string };

const record = ({ store, orgId, agentId }: World, action: string, about: About) =>
  store.audit.record([{ orgId, agentId, action, ...about }]);

async function used({ store, agentId }: World, since: number) {
  const rows = await store.audit.use(agentId, since);
  const key = ({ functionName, role, outcome }: (typeof rows)[number]) => [functionName, role ?? "", outcome].join();
  return rows.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}
