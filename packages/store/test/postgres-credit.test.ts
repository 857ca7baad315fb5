import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { spawnChild } from "./children.ts";
import { openWorld } from "./contract/world.ts";
import { postgresPlace } from "./postgres-place.ts";

test("500 queries at once over two replicas reserve all credit and not more, and a killed replica's credit returns", async () => {
  const place = await postgresPlace();
  await using world = await openWorld(async () => place);
  await using folder = await mkdtempDisposable(join(tmpdir(), "patchbay-code-"));
  const { runs, accounts } = world.store;
  await accounts.grant(world.orgId, 100 * 100 + 30);
  const other = spawnChild("spend", place.database.url, folder.path);
  const begun = await other.lines[Symbol.asyncIterator]().next();

  const [held] = await Promise.all([
    Promise.all(
      Array.from({ length: 250 }, async () => {
        const started = await runs.start(world.newRun({ reserveMicros: 100 }));
        if (started.kind !== "started") throw new Error(started.kind);
        const { run, reservedMicros } = started;
        return { run, micros: reservedMicros || (await runs.reserve(world.orgId, run.runId, 0, 100)) };
      }),
    ),
    other.kill(),
  ]);

  expect(begun.value).toBe("100");
  const reserved = async () => {
    const rows = await place.rows(
      "select owner from ledger join runs on runs.id = run_id where ledger.kind = 'reserve'",
    );
    return Object.groupBy(rows, ({ owner }) => (owner === "replica-b" ? "dead" : "alive"));
  };
  const { dead = [], alive = [] } = await reserved();
  expect(dead.length + alive.length).toBe(100);
  expect(held.filter(({ micros }) => micros === 100)).toHaveLength(alive.length);
  expect(await accounts.balance(world.orgId)).toBe(30);

  await runs.endLeases({ owner: "replica-a", working: [] });
  for (const run of await runs.claim({ owner: "replica-a", leaseMs: 15_000, limit: 500 })) await world.finish(run);
  expect(await accounts.balance(world.orgId)).toBe(30 + 100 * dead.length);
  const refused = held.find(({ micros }) => micros === undefined)!;
  expect(await runs.reserve(world.orgId, refused.run.runId, 0, 100)).toBe(100);
  for (const { run } of held) await world.finish(run);
  expect(await accounts.balance(world.orgId)).toBe(10_030);
  expect(await place.rows("select sum(micros) as micros from ledger")).toEqual([{ micros: 10_030 }]);
});
