import { sql } from "kysely";
import { expect, test } from "vitest";
import { openWorld } from "./contract/world.ts";
import { sqlitePlace } from "./sqlite-place.ts";

/** Counts up to `rows`, which takes SQLite a second or more for millions. */
const counted = (rows: number) =>
  sql<{ rows: number }>`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${rows})
    select count(*) as rows from numbers`;

test("a slow sum holds up no other list, and reads of both threads see the last commit", async () => {
  await using world = await openWorld(sqlitePlace);
  const { reads } = world.store.engine;
  await world.store.accounts.createOrg({ orgId: "org_new", name: "New", tier: "sandbox" });
  const order: string[] = [];
  const read = async (name: string, rows: number) => {
    const result = await counted(rows).execute(reads);
    order.push(name);
    return result.rows[0]?.rows;
  };
  const organisation = () => reads.selectFrom("orgs").select("name").where("id", "=", "org_new").execute();

  // Starts both threads.
  const [found, again] = await Promise.all([organisation(), organisation()]);
  const slow = read("slow", 3_000_000);
  const quick = read("quick", 10);

  expect(await Promise.all([slow, quick])).toEqual([3_000_000, 10]);
  expect(order).toEqual(["quick", "slow"]);
  expect([found, again]).toEqual([[{ name: "New" }], [{ name: "New" }]]);
});
