import { Client } from "pg";
import { expect, test } from "vitest";
import { openWorld, type Place } from "./contract/world.ts";
import { postgresPlace } from "./postgres-place.ts";

test("sealing waits for an open transaction, whose entry may precede committed ones", async () => {
  const place = await postgresPlace();
  await using world = await openWorld(async (): Promise<Place> => place);
  const { clock, orgId, store } = world;
  const client = new Client({ connectionString: place.database.url });
  await client.connect();
  await client.query("select set_config('patchbay.org', '*', false)");
  await client.query("begin");
  await client.query("insert into audit (id, org_id, action, created_at) values ('aud_1', $1, 'late', $2)", [
    orgId,
    clock.now(),
  ]);
  clock.advance(1);
  await store.audit.record([{ orgId, action: "early" }]);
  clock.advance(1);

  const before = await store.audit.seal({ settleMs: 0 });
  await client.query("commit");
  await client.end();
  clock.advance(1);
  const after = await store.audit.seal({ settleMs: 0 });

  const faults: string[] = [];
  const lines: string[] = [];
  for await (const seal of store.audit.check(orgId)) {
    faults.push(...seal.faults);
    if ("found" in seal) lines.push(...seal.found.map(({ line }) => line));
  }
  expect([before, after]).toEqual([0, 2]);
  expect(faults).toEqual([]);
  expect(lines).toEqual([expect.stringContaining(`"late"`), expect.stringContaining(`"early"`)]);
});
