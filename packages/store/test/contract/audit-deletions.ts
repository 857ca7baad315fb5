import { expect, test } from "vitest";
import { auditAdmin } from "../../../server/src/accounts/admin-audit.ts";
import { openWorld, type MakePlace, type World } from "./world.ts";

export const DAY_MS = 86_400_000;
/** Longer than entries may still appear with an earlier time. */
const SETTLED_MS = 11_000;
/** The head of no seal. */
export const HASH = "0123456789abcdef".repeat(4);

export function auditDeletionContract(place: MakePlace): void {
  recordContract(place);
  forgeryContract(place);
}

function recordContract(place: MakePlace): void {
  test("a deletion by age leaves a sealed entry with its base, count and days", async () => {
    await using world = await loggedDays(place, 5);

    await sweep(world, 3);
    await settle(world);

    const { faults, notes, deleted } = await verify(world);
    expect([faults, notes]).toEqual([[], []]);
    expect(deleted).toMatchObject({ entries: 2, days: 3 });
    const [entry] = await entriesOf(world, "audit.deleted");
    expect(entry).toMatchObject({ entries: 2, total: 2, days: 3, seq: 2, until: deleted.to });
    expect((await world.place.rows("select base_head from audit_chains"))[0]).toEqual({ base_head: entry!["head"] });
  });

  test("a check right after a deletion finds its entry, which is not sealed yet", async () => {
    await using world = await loggedDays(place, 5);
    await settle(world);

    await sweep(world, 3);

    expect(await verify(world)).toMatchObject({ faults: [], unsealed: 1, deleted: { entries: 2, days: 3 } });
  });

  test("a retention that was lowered and raised again gives a note with its days and no fault", async () => {
    await using world = await loggedDays(place, 8);
    for (const days of [6, 2, 365, 6]) {
      await sweep(world, days);
      world.clock.advance(DAY_MS);
      await log(world);
    }

    const { faults, notes, deleted } = await verify(world);

    expect(faults).toEqual([]);
    expect(deleted.days).toBe(2);
    expect(notes).toEqual([expect.stringMatching(/^The retention was 6 days on .*, and 2 days on /)]);
    expect(await entriesOf(world, "audit.deleted")).toMatchObject([{ total: 2 }, { total: 7 }]);
  });

  test("the entries about deletions stay until others are deleted, so that an idle organisation gets no more of them", async () => {
    await using world = await loggedDays(place, 2);
    world.clock.advance(5 * DAY_MS);
    await sweep(world, 2);
    const sweepLater = async () => {
      world.clock.advance(5 * DAY_MS);
      await sweep(world, 2);
      return (await entriesOf(world, "audit.deleted")).map(({ total }) => total);
    };

    expect(await sweepLater()).toEqual([2]);
    expect(await sweepLater()).toEqual([2]);
    await log(world);
    expect(await sweepLater()).toEqual([4]);
    expect(await verify(world)).toMatchObject({ faults: [], notes: [], deleted: { entries: 4 } });
  });

  test("replicas that sweep at the same time count each entry once", async () => {
    await using world = await loggedDays(place, 6);
    const stores = [world.store, await world.another(), await world.another()];

    await Promise.all(stores.map((store, i) => store.sweep({ days: 30, auditDays: 2 + i })));
    await sweep(world, 2);
    await settle(world);

    expect(await verify(world)).toMatchObject({ faults: [], deleted: { entries: 4 } });
  });
}

/** Each column of a chain, with a value that it does not have. `%` is the number that it has. */
const MOVED: Record<string, readonly string[]> = {
  seq: ["seq - 1", "seq + 1"],
  head: [`'${HASH}'`],
  to_at: ["to_at - 1", "to_at + 86400000", "0", "9000000000000000"],
  to_id: ["''", "'aud_9'"],
  entries: ["entries - 1", "entries + 1"],
  base_seq: ["base_seq - 1", "base_seq + 1", "seq", "seq + 1"],
  base_head: [`'${HASH}'`],
  base_at: ["base_at - 1", "base_at + 1", "base_at + 86400000", "1", "9000000000000000"],
  base_id: ["'a'", "'aud_9'"],
  base_entries: ["base_entries - 1", "base_entries + 1"],
};
const CHANGES = Object.entries(MOVED).flatMap(([column, values]) => values.map((value) => `${column} = ${value}`));
const TOGETHER = ["entries = entries + 7, base_entries = base_entries + 7", "to_at = to_at + 1, to_id = 'aud_9'"];

function forgeryContract(place: MakePlace): void {
  test.each([0, 2])(
    "each moved column of a chain with %i deleted seals is found, with and without a head",
    async (gone) => {
      await using world = await loggedDays(place, 5);
      if (gone > 0) await sweep(world, 5 - gone);
      await settle(world);
      const { head } = await verify(world);
      const row = (await world.place.rows("select * from audit_chains"))[0]!;
      const restore = Object.entries(row).map(([name, value]) => `${name} = '${value as string | number}'`);
      expect(Object.keys(row).toSorted()).toEqual(["org_id", ...Object.keys(MOVED)].toSorted());
      for (const change of [...CHANGES, ...TOGETHER]) {
        await world.place.execute(`update audit_chains set ${change}`);

        for (const options of [{}, { head: head! }])
          expect((await verify(world, options)).faults, change).not.toEqual([]);

        await world.place.execute(`update audit_chains set ${restore.join(", ")}`);
        expect(await verify(world, { head: head! })).toMatchObject({ faults: [] });
      }
    },
  );

  test("a chain that begins later, without its seals and entries, is found with and without a head", async () => {
    await using world = await loggedDays(place, 5);
    const { head } = await verify(world);

    await forget(world, 4);

    for (const options of [{}, { head: head! }])
      expect((await verify(world, options)).faults).toEqual([
        expect.stringMatching(/^The log begins after seal 4 .*, and no entry records that the 4 entries before were/),
      ]);
    await sweep(world, 365);
    expect((await verify(world)).faults).toHaveLength(1);
  });

  test("a forged entry cannot state an earlier time of what it deleted, nor a longer retention", async () => {
    const [base] = [{ entries: 4, total: 4 }];
    for (const [forged, expected] of [
      [{ days: 365 }, [/records a retention of 365 days, but deleted entries of 1\.0 days\.$/]],
      [{ days: 365, until: "2029-01-01T00:00:00.000Z" }, [/is not what entry .* records\.$/]],
      [{ days: 365, until: "2029-01-01T00:00:00.000Z", isMoved: true }, [/records another time of seal 4 than/]],
      [{ days: Number.NaN }, [/records no retention\.$/]],
      // The retention that it states is what nothing but the operator knows: it is shown.
      [{ days: 1 }, []],
    ] as const) {
      await using world = await loggedDays(place, 5);
      const { isMoved, ...detail } = { isMoved: false, ...forged };
      const seal = await forget(world, 4);
      if (isMoved) await world.place.execute(`update audit_chains set base_at = ${Date.UTC(2029, 0, 1)}`);
      await world.store.audit.record([
        { orgId: world.orgId, action: "audit.deleted", detail: { ...base, ...seal, ...detail } },
      ]);
      await settle(world);

      const verified = await verify(world);

      expect(verified.faults).toEqual(expected.map((one) => expect.stringMatching(one)));
      if (expected.length === 0) expect(verified.deleted).toMatchObject({ days: 1 });
    }
  });

  test("an entry about a deletion that is dated after now is found", async () => {
    await using world = await loggedDays(place, 5);
    const seal = await forget(world, 4);
    const detail = JSON.stringify({ entries: 4, total: 4, ...seal, days: 365 });
    const at = world.clock.now() + 366 * DAY_MS;
    await world.place.execute(
      `insert into audit (id, org_id, action, detail, created_at) values ('aud_z', '${world.orgId}', 'audit.deleted', '${detail}', ${at})`,
    );

    expect((await verify(world)).faults).toEqual([expect.stringMatching(/is dated after now\.$/)]);
  });

  test.each(["'{}'", "'null'", "'no JSON'", "null"])(
    "an entry about a deletion with the detail %s is found",
    async (detail) => {
      await using world = await loggedDays(place, 5);
      await sweep(world, 3);
      await settle(world);

      await world.place.execute(`update audit set detail = ${detail} where action = 'audit.deleted'`);

      expect((await verify(world)).faults).toEqual([
        expect.stringMatching(/was changed after it was sealed/),
        expect.stringMatching(/^The log begins after seal 2 .* no entry records/),
      ]);
    },
  );

  test("entries that are counted as deleted without a record are noted", async () => {
    await using world = await loggedDays(place, 8);
    await sweep(world, 6);
    await settle(world);
    await world.place.execute("update audit_chains set entries = entries + 9, base_entries = base_entries + 9");
    await sweep(world, 4);

    expect((await verify(world)).notes).toContainEqual(
      expect.stringMatching(/^9 more entries are counted as deleted between .*, without a record\.$/),
    );
  });
}

/** One sealed entry a day, the last one now. */
export async function loggedDays(place: MakePlace, days: number): Promise<World> {
  const world = await openWorld(place);
  for (let day = 0; day < days; day++) {
    if (day > 0) world.clock.advance(DAY_MS - SETTLED_MS);
    await log(world);
  }
  return world;
}

export async function log(world: World): Promise<void> {
  await world.store.audit.record([{ orgId: world.orgId, agentId: world.agentId, action: "agent.updated" }]);
  await settle(world);
}

async function settle({ clock, store }: World): Promise<void> {
  clock.advance(SETTLED_MS);
  await store.audit.seal();
}

/** A sweep that keeps entries for the days up to now. */
const sweep = ({ store }: World, auditDays: number) => store.sweep({ days: 30, auditDays });

export const verify = ({ store, orgId }: World, options = {}) => auditAdmin(store).verifyAudit(orgId, options);

async function entriesOf({ store, orgId }: World, action: string) {
  const { items } = await store.audit.list({ orgId, action, limit: 99 });
  return items.map(({ detail }) => detail ?? {}).toReversed();
}

/** What somebody does who deletes the log up to a seal and sets the beginning of the chain. Returns what a true entry would have. */
async function forget({ place }: World, seq: number) {
  const rows = await place.rows(`select * from audit_seals where seq in (${seq - 1}, ${seq}) order by seq`);
  const [before, last] = rows as [Record<string, string | number>, Record<string, string | number>];
  const { head, to_at: at, to_id: id, entries: sealed, content } = last;
  await place.execute(`delete from audit_seals where seq <= ${seq}`);
  await place.execute(`delete from audit where created_at <= ${at}`);
  await place.execute(
    `update audit_chains set base_seq = ${seq}, base_head = '${head}', base_at = ${at}, base_id = '${id}', base_entries = ${seq}`,
  );
  const until = new Date(Number(at)).toISOString();
  return { seq, head: head!, id: id!, until, before: before["head"]!, sealed: Number(sealed), content: content! };
}
