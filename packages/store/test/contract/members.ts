import { expect, test } from "vitest";
import type { NewMember } from "@patchbay/engine/ports/store/members";
import { openWorld, type MakePlace, type World } from "./world.ts";

const owner = (world: World, memberId: string, change: Partial<NewMember> = {}): NewMember => ({
  memberId,
  orgId: world.orgId,
  email: `${memberId}@example.com`,
  name: memberId,
  role: "owner",
  passwordHash: "hash",
  ...change,
});

export function memberContract(place: MakePlace): void {
  test("no two members of an organisation have one address, until the first is removed", async () => {
    await using world = await openWorld(place);
    const { members } = world.store;
    await members.create(owner(world, "mem_1"));

    expect(await members.create(owner(world, "mem_2", { email: "mem_1@example.com" }))).toBe(false);
    expect(await members.create(owner(world, "mem_2"))).toBe(true);
    expect(await members.remove(world.orgId, "mem_1")).toBe("changed");
    expect(await members.byEmail("mem_1@example.com")).toBeUndefined();
    expect(await members.create(owner(world, "mem_3", { email: "mem_1@example.com" }))).toBe(true);
    expect(await members.byEmail("mem_1@example.com")).toMatchObject({ memberId: "mem_3" });
  });

  test("one of two owners who remove or demote each other at the same time stays an owner", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    for (let i = 0; i < 20; i++) {
      const [a, b] = [`mem_a${i}`, `mem_b${i}`];
      await world.store.accounts.createOrg({ orgId: `org_${a}`, name: "", tier: "sandbox" });
      const orgId = `org_${a}`;
      for (const id of [a, b]) await world.store.members.create(owner(world, id, { orgId }));

      const outcomes = await Promise.all([
        world.store.members.remove(orgId, a),
        other.members.changeRole(orgId, b, "viewer"),
      ]);

      expect(outcomes.toSorted()).toEqual(["changed", "last_owner"]);
      const { items } = await world.store.members.list(orgId, { limit: 10 });
      expect(items.filter(({ role }) => role === "owner")).toHaveLength(1);
    }
  });

  test("replicas that start at the same time create one set-up link", async () => {
    await using world = await openWorld(place);
    const stores = [world.store, await world.another(), await world.another()];
    const make = (replace: boolean) =>
      Promise.all(
        stores.map((store, i) => store.signIn.createSetUpLink({ hash: `h${i}${replace}`, lifeMs: 1_000, replace })),
      );

    const made = await make(false);

    expect(made.filter((one) => one !== undefined)).toEqual([world.clock.now() + 1_000]);
    expect((await make(false)).filter((one) => one !== undefined)).toEqual([]);
    world.clock.advance(1_000);
    expect((await make(false)).filter((one) => one !== undefined)).toHaveLength(1);
  });

  test("setting up creates the owner and the organisation, or neither", async () => {
    await using world = await openWorld(place);
    const { signIn, members } = world.store;
    await signIn.createSetUpLink({ hash: "setup", lifeMs: 1_000, replace: true });
    const org = { orgId: "org_new", name: "New", tier: "sandbox" };
    const made = { org, owner: owner(world, "mem_1", { orgId: "org_new" }) };

    expect(await signIn.setUp("other", made)).toBe(false);
    expect(await world.store.accounts.getOrg("org_new")).toBeUndefined();
    expect(await signIn.setUp("setup", made)).toBe(true);

    expect(await members.byId("mem_1")).toMatchObject({ orgId: "org_new", role: "owner" });
    expect(await world.store.accounts.getOrg("org_new")).toEqual(org);
    expect(await signIn.setUp("setup", made)).toBe(false);
  });

  test("sessions have the member's current role and end with removal, a new role and a new password", async () => {
    await using world = await openWorld(place);
    const { signIn, members } = world.store;
    await members.create(owner(world, "mem_1"));
    await members.create(owner(world, "mem_2"));
    const ends = [
      () => members.changeRole(world.orgId, "mem_2", "viewer"),
      () => members.changeAccount("mem_2", { passwordHash: "other" }),
      () => members.remove(world.orgId, "mem_2"),
    ];

    for (const [i, end] of ends.entries()) {
      await signIn.openSession({ hash: `s${i}`, memberId: "mem_2" });
      expect(await signIn.session(`s${i}`)).toMatchObject({
        member: { memberId: "mem_2", role: i === 0 ? "owner" : "viewer" },
        org: { orgId: world.orgId, name: "Desk", tier: "starter" },
        confirmed: true,
        stale: false,
      });
      await end();
      expect(await signIn.session(`s${i}`)).toBeUndefined();
    }
  });

  test("a sweep deletes expired sessions and links", async () => {
    await using world = await openWorld(place);
    const { signIn, members } = world.store;
    await members.create(owner(world, "mem_1"));
    await signIn.openSession({ hash: "old", memberId: "mem_1" });
    await signIn.createLink({ hash: "old", kind: "invitation", memberId: "mem_1", lifeMs: 1_000 });
    world.clock.advance(8 * 86_400_000);
    await signIn.openSession({ hash: "new", memberId: "mem_1" });

    await world.store.sweep({ days: 30 });

    expect(await world.place.rows("select hash from console_sessions")).toEqual([{ hash: "new" }]);
    expect(await world.place.rows("select hash from sign_in_links")).toEqual([]);
  });
}
