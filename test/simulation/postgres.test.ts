import { expect, test } from "vitest";
import { startPostgres } from "./postgres.ts";
import { simulate } from "./simulate.ts";

const open = await startPostgres();

test.each([1, 2, 3])("seed %i leaves no violation on Postgres", async (seed) => {
  const { violations } = await simulate(seed, { open });
  expect(violations, `repeat with: pnpm simulate --postgres --seeds 1 --from ${seed}`).toEqual([]);
});

test("two runs of a seed take the same steps on Postgres", async () => {
  const [first, second] = [await simulate(6, { open }), await simulate(6, { open })];
  expect(second.hash).toBe(first.hash);
  expect(second.steps).toBe(first.steps);
});
