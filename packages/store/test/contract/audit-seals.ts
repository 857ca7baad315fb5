import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { CheckedSeal } from "@patchbay/engine/ports/store/audit-seals";
import type { OpenStore } from "../../src/open.ts";
import { openWorld, type MakePlace, type World } from "./world.ts";

const DAY_MS = 86_400_000;
const SETTLED_MS = 11_000;

export function auditSealContract(place: MakePlace): void {
  test("a sealed log without changes has no faults, and its heads follow from its entries", async () => {
    await using world = await sealedWorld(place, 3);
    await record(world, ["d"]);
    await settle(world);

    const seals = await sealsOf(world);

    expect(await faults(world)).toEqual([]);
    expect(seals.map(({ seq, entries }) => [seq, entries])).toEqual([
      [1, 3],
      [2, 1],
    ]);
    const hash = (lines: readonly unknown[]) =>
      createHash("sha256")
        .update(lines.map((line) => `${String(line)}\n`).join(""))
        .digest("hex");
    let before = "0".repeat(64);
    for (const { seq, entries, to, head, content, found } of seals) {
      expect(found.map(({ line }) => createHash("sha256").update(line).digest("hex"))).toEqual(
        found.map(({ digest }) => digest),
      );
      expect(hash(found.map(({ digest }) => digest))).toBe(content);
      expect(hash(["patchbay-audit-1", world.orgId, seq, before, entries, to.at, to.id, content])).toBe(head);
      before = head;
    }
    expect(await world.store.audit.chain(world.orgId)).toMatchObject({ seq: 2, head: before, entries: 4, unsealed: 0 });
  });

  test.each([
    [
      "a changed entry",
      `update audit set role = 'boss' where action = 'b'`,
      [/^Entry aud_\S+ \(.*\) was changed after/],
    ],
    ["a changed detail", `update audit set detail = '{"n":2}' where action = 'b'`, [/was changed after it was sealed/]],
    ["a removed entry", `delete from audit where action = 'b'`, [/^1 entry was removed after entry aud_/]],
    [
      "the removed first entry",
      `delete from audit where action = 'a'`,
      [/^1 entry was removed at the beginning of seal 1/],
    ],
    ["the removed last entry", `delete from audit where action = 'c'`, [/^1 entry was removed after entry aud_/]],
    [
      "an inserted entry",
      `insert into audit (id, org_id, action, created_at) select 'aud_x', org_id, 'x', created_at - 1 from audit where action = 'b'`,
      [/^Entry aud_x \(.*\) was inserted/],
    ],
    [
      "entries in another order",
      `update audit set created_at = (select sum(created_at) from audit as other where other.action in ('a', 'c')) - created_at where action in ('a', 'c')`,
      [/was changed after it was sealed/, /was changed after it was sealed/],
    ],
    ["a changed seal", `update audit_seals set entries = 2 where seq = 1`, [/^Seal 1 was changed/, /./]],
    ["a removed seal", `delete from audit_seals where seq = 1`, [/^Seal 1 was removed/]],
    ["a removed last seal", `delete from audit_seals where seq = 2`, [/^Seal 2 was removed from the end/]],
    ["a forged count", `update audit_chains set entries = 9`, [/^The chain counts 9 entries, its seals 4/]],
    ["a forged head", `update audit_chains set head = 'f'`, [/^The head of the chain is not the one of its last seal/]],
  ])("%s is found", async (_what, statement, expected) => {
    await using world = await sealedWorld(place, 3);
    await record(world, ["d"]);
    await settle(world);

    await world.place.execute(statement);

    expect(await faults(world)).toEqual(expected.map((one) => expect.stringMatching(one)));
  });

  test("a removed chain is found, and the log of other organisations is sealed", async () => {
    await using world = await sealedWorld(place, 3);
    await world.store.accounts.createOrg({ orgId: "org_z", name: "Other", tier: "starter" });
    await world.place.execute("delete from audit_chains");
    await world.store.audit.record([{ orgId: "org_z", action: "z" }]);
    world.clock.advance(SETTLED_MS);

    await expect(world.store.audit.seal()).rejects.toThrow("could not be sealed");

    expect(await faults(world)).toEqual(["The chain was removed, and its seals are still there."]);
    expect(await world.store.audit.chain("org_z")).toMatchObject({ seq: 1, entries: 1 });
  });

  test("an entry that was moved to another seal is found in both", async () => {
    await using world = await sealedWorld(place, 3);
    await record(world, ["d", "e"]);
    await settle(world);

    await world.place.execute(
      `update audit set created_at = (select created_at - 1 from audit as other where other.action = 'd') where action = 'b'`,
    );

    expect(await faults(world)).toEqual([expect.stringMatching(/removed/), expect.stringMatching(/was inserted/)]);
  });

  test("replicas that seal at the same time make one chain", async () => {
    await using world = await sealedWorld(place, 3);
    const stores = [world.store, await world.another(), await world.another()];
    await record(
      world,
      Array.from({ length: 1_200 }, (_, n) => `a${n}`),
    );
    world.clock.advance(SETTLED_MS);

    const sealed = await Promise.all(stores.map((store) => store.audit.seal()));
    while ((await world.store.audit.seal()) > 0);

    expect(sealed.reduce((sum, some) => sum + some, 0)).toBeLessThanOrEqual(1_200);
    expect(await faults(world)).toEqual([]);
    expect((await sealsOf(world)).map(({ entries }) => entries)).toEqual([3, 500, 500, 200]);
  });

  test("entries of the last seconds wait, and are sealed once", async () => {
    await using world = await openWorld(place);
    await record(world, ["a"]);

    const early = await world.store.audit.seal();
    world.clock.advance(SETTLED_MS);
    const later = [await world.store.audit.seal(), await world.store.audit.seal()];

    expect([early, ...later]).toEqual([0, 1, 0]);
  });

  test("each organisation has a chain of its own", async () => {
    await using world = await sealedWorld(place, 3);
    await world.store.accounts.createOrg({ orgId: "org_2", name: "Other", tier: "starter" });
    await world.store.audit.record([{ orgId: "org_2", action: "z" }]);
    await settle(world);

    await world.place.execute(`delete from audit where action = 'z'`);

    expect(await faults(world)).toEqual([]);
    expect(await faults(world, "org_2")).toEqual([expect.stringMatching(/1 entry was removed/)]);
    expect(await faults(world, "org_3")).toEqual([]);
    expect(await world.store.audit.chain("org_3")).toMatchObject({ seq: 0, entries: 0, unsealed: 0 });
  });

  test("the chain keeps the head of entries that retention deleted", async () => {
    await using world = await sealedWorld(place, 3);
    world.clock.advance(3 * DAY_MS);
    await record(world, ["d", "e"]);
    await settle(world);
    const [first] = await sealsOf(world);

    await world.store.sweep({ days: 30, auditDays: 2 });

    expect(await world.place.rows("select action from audit order by created_at")).toEqual([
      { action: "d" },
      { action: "e" },
      { action: "audit.deleted" },
    ]);
    expect(await faults(world)).toEqual([]);
    expect(await world.store.audit.chain(world.orgId)).toMatchObject({
      seq: 2,
      entries: 5,
      deleted: { seq: 1, head: first!.head, entries: 3 },
    });
    await world.place.execute(`delete from audit where action = 'd'`);
    expect(await faults(world)).toEqual([expect.stringMatching(/1 entry was removed at the beginning of seal 2/)]);
  });

  test("a check ignores what an interrupted deletion left, and the next sweep deletes it", async () => {
    await using world = await sealedWorld(place, 3);
    world.clock.advance(3 * DAY_MS);
    await world.store.sweep({ days: 30, auditDays: 2 });
    await world.place.execute(
      `insert into audit (id, org_id, action, created_at) select 'aud_0', org_id, 'left', base_at from audit_chains`,
    );

    const found = await faults(world);
    await world.store.sweep({ days: 30, auditDays: 2 });

    expect(found).toEqual([]);
    expect(await world.place.rows("select action from audit")).toEqual([{ action: "audit.deleted" }]);
  });

  test("a seal ends with its day, so that retention deletes whole seals", async () => {
    await using world = await openWorld(place);
    await record(world, ["a"]);
    world.clock.advance(DAY_MS);
    await record(world, ["b"]);
    await settle(world);

    expect((await sealsOf(world)).map(({ entries }) => entries)).toEqual([1, 1]);
  });
}

/** A log whose first entries are sealed, a second apart. */
async function sealedWorld(place: MakePlace, entries: number): Promise<World> {
  const world = await openWorld(place);
  await record(world, ["a", "b", "c"].slice(0, entries));
  await settle(world);
  return world;
}

async function record(world: World, actions: readonly string[]): Promise<void> {
  const { orgId, agentId } = world;
  const isMany = actions.length > 100;
  if (isMany) return world.store.audit.record(actions.map((action) => ({ orgId, agentId, action })));
  for (const action of actions) {
    world.clock.advance(1_000);
    await world.store.audit.record([{ orgId, agentId, action, role: "clerk", detail: { n: 1 } }]);
  }
}

async function settle({ clock, store }: World): Promise<void> {
  clock.advance(SETTLED_MS);
  await store.audit.seal();
}

async function sealsOf({ store, orgId }: { store: OpenStore; orgId: string }) {
  const seals: CheckedSeal[] = [];
  for await (const one of store.audit.check(orgId)) if ("seq" in one) seals.push(one);
  return seals;
}

async function faults({ store, orgId }: World, of: string = orgId): Promise<string[]> {
  const all: string[] = [];
  for await (const one of store.audit.check(of)) all.push(...one.faults);
  return all;
}
