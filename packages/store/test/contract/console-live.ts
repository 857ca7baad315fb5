import { expect, test } from "vitest";
import { changedTopics, type Versions } from "../../../console-api/src/live/queries.ts";
import type { NewMember } from "@patchbay/engine/ports/store/members";
import { keyOf } from "./console-samples.ts";
import { type MakePlace, openWorld, sampleLink, type World } from "./world.ts";

/** Says which topics changed since the last call, for the pages of one agent or of all. */
async function watch({ console, orgId }: World, agentId?: string): Promise<() => Promise<string[]>> {
  let before: Versions = await console.live.versions(orgId);
  return async () => {
    const now = await console.live.versions(orgId);
    const topics = changedTopics(before, now, agentId);
    before = now;
    return topics;
  };
}

const memberOf = (world: World, memberId: string, change: Partial<NewMember> = {}): NewMember => ({
  memberId,
  orgId: world.orgId,
  email: `${memberId}@example.com`,
  name: "A",
  role: "viewer",
  passwordHash: "argon2",
  ...change,
});

export function consoleLiveContract(place: MakePlace): void {
  test("the version of a list changes with what the list shows, and with nothing else", async () => {
    await using world = await openWorld(place);
    const { accounts, runtimes, runs, members, signIn } = world.store;
    const { orgId, agentId } = world;
    await accounts.createAgent({ agentId: "agt_2", orgId, name: "Buyer", instructions: "" });
    const changed = await watch(world);
    const ofOther = await watch(world, "agt_2");

    expect(await changed()).toEqual([]);
    const run = await world.start();
    expect(await changed()).toEqual(["runs"]);
    await runs.commit(run, { events: [{ seq: 1, body: "{}" }] });
    expect(await changed()).toEqual(["runs"]);
    await world.finish({ ...run, lastSeq: 1 });
    expect(await changed()).toEqual(["runs"]);
    await runtimes.connectionOpened(sampleLink());
    expect(await changed()).toEqual(["runtimes"]);
    world.clock.advance(1_000);
    await runtimes.renewConnections(["con_1"]);
    expect(await changed()).toEqual([]);
    await runtimes.connectionDraining("con_1");
    expect(await changed()).toEqual(["runtimes"]);
    world.clock.advance(30_000);
    expect(await changed()).toEqual(["runtimes"]);
    await accounts.createCredential(keyOf(agentId, { expiresAt: world.clock.now() + 10 }));
    expect(await changed()).toEqual(["credentials"]);
    world.clock.advance(10);
    expect(await changed()).toEqual(["credentials"]);
    await accounts.updateAgent(agentId, { name: "Desk" });
    expect(await changed()).toEqual(["agents"]);

    expect(await ofOther()).toEqual([]);
    await accounts.grant(orgId, 1);
    expect(await changed()).toEqual(["credits"]);
    await members.create(memberOf(world, "mem_1"));
    expect(await changed()).toEqual(["members"]);
    await signIn.openSession({ hash: "session", memberId: "mem_1" });
    expect(await changed()).toEqual([]);
    await accounts.renameOrg(orgId, "Shop");
    expect(await changed()).toEqual(["members"]);
    expect(await ofOther()).toEqual(["credits", "members"]);
    await accounts.deleteAgent(agentId);
    expect(await changed()).toEqual(["agents", "runs"]);
  });

  test("changes that keep the length of every text change the version", async () => {
    await using world = await openWorld(place);
    const { accounts, members } = world.store;
    await accounts.updateAgent(world.agentId, { instructions: "Be short." });
    await members.create(memberOf(world, "mem_1", { role: "owner" }));
    await members.create(memberOf(world, "mem_2", { role: "viewer" }));
    await members.create(memberOf(world, "mem_3", { role: "owner" }));
    const changed = await watch(world);

    await members.changeRole(world.orgId, "mem_1", "viewer");
    await members.changeRole(world.orgId, "mem_2", "owner");
    expect(await changed()).toEqual(["members"]);
    await accounts.updateAgent(world.agentId, { instructions: "Be quick." });
    expect(await changed()).toEqual(["agents"]);
    await accounts.updateAgent(world.agentId, { accessChanges: "confirm" });
    expect(await changed()).toEqual(["agents"]);
    await accounts.updateAgent(world.agentId, { settings: { temperature: 0.5 } });
    expect(await changed()).toEqual(["agents"]);
  });

  test("a runtime that falls silent while another one returns changes the version", async () => {
    await using world = await openWorld(place);
    const { runtimes } = world.store;
    const ids = ["1", "2", "3", "4"];
    for (const id of ids)
      await runtimes.connectionOpened(sampleLink({ connectionId: `con_${id}`, instanceId: `rt_${id}` }));
    world.clock.advance(40_000);
    await runtimes.renewConnections(["con_1", "con_2", "con_4"]);
    const changed = await watch(world);

    world.clock.advance(20_000);
    await runtimes.renewConnections(["con_1", "con_4"]);
    world.clock.advance(20_000);
    await runtimes.renewConnections(["con_1", "con_3", "con_4"]);

    expect(await changed()).toEqual(["runtimes"]);
  });

  test("credit that is granted and spent between two looks changes the version", async () => {
    await using world = await openWorld(place);
    await world.store.accounts.grant(world.orgId, 1_000);
    const run = await world.start();
    const changed = await watch(world);
    world.clock.advance(1);

    await world.store.accounts.grant(world.orgId, 100);
    await world.store.runs.reserve(world.orgId, run.runId, 0, 100);

    expect(await world.store.accounts.balance(world.orgId)).toBe(1_000);
    expect(await changed()).toEqual(["credits"]);
  });

  test("changes of another organisation change no version", async () => {
    await using world = await openWorld(place);
    const { accounts, members } = world.store;
    await accounts.createOrg({ orgId: "org_2", name: "Other", tier: "starter" });
    const changed = await watch(world);

    await accounts.createAgent({ agentId: "agt_9", orgId: "org_2", name: "Clerk", instructions: "" });
    await members.create(memberOf(world, "mem_9", { orgId: "org_2" }));
    await accounts.grant("org_2", 5);

    expect(await changed()).toEqual([]);
  });
}
