import { expect, test } from "vitest";
import type { NewMember } from "@patchbay/engine/ports/store/members";
import { openWorld, type MakePlace, type World } from "./world.ts";

const LIFE_MS = 1_000;

function newMember(world: World, memberId: string, change: Partial<NewMember> = {}): NewMember {
  const email = `${memberId}@example.com`;
  return { memberId, orgId: world.orgId, email, name: memberId, role: "owner", passwordHash: "hash", ...change };
}

const invited = (world: World, memberId: string, change: Partial<NewMember> = {}) =>
  newMember(world, memberId, { role: "viewer", passwordHash: null, ...change });

const chosen = (memberId: string) => ({ memberId, name: "Ann", passwordHash: "new" });

async function openOtherOrg(world: World): Promise<string> {
  const orgId = "org_other";
  await world.store.accounts.createOrg({ orgId, name: "Other", tier: "sandbox" });
  return orgId;
}

export function linkContract(place: MakePlace): void {
  test("a link works once, also over several replicas", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    await world.store.members.create(newMember(world, "mem_1"));
    for (let i = 0; i < 20; i++) {
      const hash = `link_${i}`;
      await world.store.signIn.createLink({ hash, kind: "invitation", memberId: "mem_1", lifeMs: LIFE_MS });

      const taken = await Promise.all([
        world.store.signIn.acceptInvitation(hash, chosen("mem_1")),
        other.signIn.acceptInvitation(hash, chosen("mem_1")),
      ]);

      expect(taken.toSorted()).toEqual(["accepted", "gone"]);
    }
  });

  test("removal, another role and a new password end the unused links that the member made", async () => {
    await using world = await openWorld(place);
    const { signIn, members } = world.store;
    await members.create(newMember(world, "mem_alice"));
    const ends = [
      (memberId: string) => members.remove(world.orgId, memberId),
      (memberId: string) => members.changeRole(world.orgId, memberId, "viewer"),
      (memberId: string) => members.changeAccount(memberId, { passwordHash: "other" }),
    ];

    for (const [i, end] of ends.entries()) {
      const by = `mem_mallory${i}`;
      await members.create(newMember(world, by));
      await signIn.createLink({
        hash: `for_alice${i}`,
        kind: "invitation",
        memberId: "mem_alice",
        lifeMs: LIFE_MS,
        by,
      });
      await signIn.invite({ hash: `sleeper${i}`, member: invited(world, `mem_sleeper${i}`), lifeMs: LIFE_MS, by });
      expect((await signIn.pendingLinks(world.orgId, { limit: 10 })).items).toHaveLength(2);

      await end(by);

      expect(await signIn.link(`for_alice${i}`)).toBeUndefined();
      expect(await signIn.acceptInvitation(`sleeper${i}`, chosen(`mem_sleeper${i}`))).toBe("gone");
      expect((await signIn.pendingLinks(world.orgId, { limit: 10 })).items).toEqual([]);
    }
  });

  test("another name, and links of other members, leave a link as it is", async () => {
    await using world = await openWorld(place);
    const { signIn, members } = world.store;
    for (const id of ["mem_1", "mem_2", "mem_3"]) await members.create(newMember(world, id));
    const link = { hash: "by_1", kind: "invitation" as const, memberId: "mem_3", lifeMs: LIFE_MS };
    await signIn.createLink({ ...link, by: "mem_1" });

    await members.changeAccount("mem_1", { name: "Other" });
    await members.remove(world.orgId, "mem_2");

    expect(await signIn.link("by_1")).toMatchObject({ member: { memberId: "mem_3" } });
  });

  test("an owner who is removed or demoted while creating a link leaves no link", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const { signIn, members } = world.store;
    await members.create(newMember(world, "mem_alice"));
    for (let i = 0; i < 20; i++) {
      const by = `mem_${i}`;
      await members.create(newMember(world, by));
      const link = { hash: `link_${i}`, kind: "invitation" as const, memberId: "mem_alice", lifeMs: LIFE_MS, by };
      const member = invited(world, `mem_guest${i}`);

      await Promise.all([
        signIn.createLink(link),
        signIn.invite({ hash: `guest_${i}`, member, lifeMs: LIFE_MS, by }),
        i % 2 === 0 ? other.members.remove(world.orgId, by) : other.members.changeRole(world.orgId, by, "developer"),
      ]);

      expect((await signIn.pendingLinks(world.orgId, { limit: 10 })).items).toEqual([]);
      expect(await signIn.createLink({ ...link, hash: `late_${i}` })).toEqual({ kind: "not_owner" });
    }
  });

  test("an author of another organisation cannot create a link", async () => {
    await using world = await openWorld(place);
    const { signIn, members } = world.store;
    const orgId = await openOtherOrg(world);
    await members.create(newMember(world, "mem_1"));
    await members.create(newMember(world, "mem_2", { orgId }));

    const link = { hash: "x", kind: "invitation" as const, memberId: "mem_1", lifeMs: LIFE_MS, by: "mem_2" };

    expect(await signIn.createLink(link)).toEqual({ kind: "not_owner" });
  });

  test("two organisations can invite one address, and the first invitation accepted wins", async () => {
    await using world = await openWorld(place);
    const { signIn, members } = world.store;
    const orgId = await openOtherOrg(world);
    const email = "ann@example.com";
    const [here, there] = [invited(world, "mem_here", { email }), invited(world, "mem_there", { email, orgId })];

    expect(await signIn.invite({ hash: "here", member: here, lifeMs: LIFE_MS })).toMatchObject({ kind: "made" });
    expect(await signIn.invite({ hash: "there", member: there, lifeMs: LIFE_MS })).toMatchObject({ kind: "made" });
    expect(await members.byEmail(email)).toBeUndefined();
    expect(await signIn.link("there")).toMatchObject({ addressTaken: false });
    expect(await signIn.acceptInvitation("here", chosen("mem_here"))).toBe("accepted");

    expect(await signIn.link("there")).toMatchObject({ addressTaken: true });
    expect(await signIn.acceptInvitation("there", chosen("mem_there"))).toBe("address_taken");
    expect(await members.byEmail(email)).toMatchObject({ memberId: "mem_here" });
    await members.remove(world.orgId, "mem_here");
    expect(await signIn.acceptInvitation("there", chosen("mem_there"))).toBe("accepted");
    expect(await members.byEmail(email)).toMatchObject({ memberId: "mem_there" });
  });

  test("only one of two invitations to an address can be accepted at the same time", async () => {
    await using world = await openWorld(place);
    const other = await world.another();
    const orgId = await openOtherOrg(world);
    const { signIn } = world.store;
    for (let i = 0; i < 20; i++) {
      const email = `ann${i}@example.com`;
      const [here, there] = [`mem_here${i}`, `mem_there${i}`];
      await signIn.invite({ hash: here, member: invited(world, here, { email }), lifeMs: LIFE_MS });
      await signIn.invite({ hash: there, member: invited(world, there, { email, orgId }), lifeMs: LIFE_MS });

      const outcomes = await Promise.all([
        signIn.acceptInvitation(here, chosen(here)),
        other.signIn.acceptInvitation(there, chosen(there)),
      ]);

      expect(outcomes.toSorted()).toEqual(["accepted", "address_taken"]);
    }
  });

  test("a second invitation to a member's address creates neither a member nor a link", async () => {
    await using world = await openWorld(place);
    const { signIn, members } = world.store;
    await signIn.invite({ hash: "first", member: invited(world, "mem_1"), lifeMs: LIFE_MS });

    const again = invited(world, "mem_2", { email: "mem_1@example.com" });

    expect(await signIn.invite({ hash: "second", member: again, lifeMs: LIFE_MS })).toEqual({ kind: "member_exists" });
    expect(await members.byId("mem_2")).toBeUndefined();
    expect(await signIn.link("second")).toBeUndefined();
    expect(await signIn.link("first")).toBeDefined();
  });

  test("pending links name their author, page by page, until they are used or expire", async () => {
    await using world = await openWorld(place);
    const { signIn, members } = world.store;
    await members.create(newMember(world, "mem_owner"));
    const pending = async (cursor?: string) => signIn.pendingLinks(world.orgId, { limit: 1, cursor });
    await signIn.invite({ hash: "1", member: invited(world, "mem_1"), lifeMs: 2 * LIFE_MS });
    world.clock.advance(1);
    await signIn.invite({ hash: "2", member: invited(world, "mem_2"), lifeMs: LIFE_MS, by: "mem_owner" });

    const first = await pending();
    const second = await pending(first.nextCursor ?? undefined);

    expect(first.items).toMatchObject([
      {
        member: { memberId: "mem_2", passwordHash: null },
        createdBy: { memberId: "mem_owner", name: "mem_owner", email: "mem_owner@example.com" },
        createdAt: world.clock.now(),
        expiresAt: world.clock.now() + LIFE_MS,
      },
    ]);
    expect(second).toMatchObject({ items: [{ member: { memberId: "mem_1" }, createdBy: null }], nextCursor: null });
    world.clock.advance(LIFE_MS);
    expect((await pending()).items).toMatchObject([{ member: { memberId: "mem_1" } }]);
    await signIn.acceptInvitation("1", chosen("mem_1"));
    expect((await pending()).items).toEqual([]);
  });

  test("a withdrawn link is void, and removes only a member who never joined", async () => {
    await using world = await openWorld(place);
    const { signIn, members } = world.store;
    await members.create(newMember(world, "mem_1"));
    await signIn.createLink({ hash: "1", kind: "invitation", memberId: "mem_1", lifeMs: LIFE_MS });
    await signIn.invite({ hash: "2", member: invited(world, "mem_2"), lifeMs: LIFE_MS });

    for (const [hash, memberId] of [
      ["1", "mem_1"],
      ["2", "mem_2"],
    ] as const) {
      expect(await signIn.withdrawLink("org_other", memberId)).toBe(false);
      expect(await signIn.withdrawLink(world.orgId, memberId)).toBe(true);
      expect(await signIn.acceptInvitation(hash, chosen(memberId))).toBe("gone");
      expect(await signIn.withdrawLink(world.orgId, memberId)).toBe(false);
    }

    expect((await members.list(world.orgId, { limit: 10 })).items).toMatchObject([{ memberId: "mem_1" }]);
  });
}
