import { randomInt } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test } from "vitest";
import { createDice, type Dice } from "../../examples/retail-desk/data/dice.ts";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { until } from "@patchbay/test-support/inbox";
import { expectNothingKept, expectSoundRuns } from "../support/invariants.ts";
import { readDatabase } from "../support/processes.ts";
import { readAlong } from "@patchbay/test-support/reader";
import { startSystem } from "@patchbay/test-support/system";
import { twoSteps } from "../support/call-models.ts";

const THREADS = 20;
const QUERIES = 200;

/** A slow function that records overlapping runs of one thread. */
function watchfulService() {
  const active = new Map<string, { runId: string; calls: number }>();
  const overlaps: string[] = [];
  const lookUp = defineFunction({
    name: "look_up",
    description: "Looks something up.",
    input: { type: "object", properties: { id: { type: "number" } } },
    roles: everyone,
    async handler(_input, { threadId, runId, signal }) {
      const now = active.get(threadId) ?? { runId, calls: 0 };
      if (now.runId !== runId) overlaps.push(threadId);
      active.set(threadId, { runId, calls: now.calls + 1 });
      await sleep(3, undefined, { signal }).catch(() => {});
      const left = active.get(threadId)!;
      if (--left.calls === 0) active.delete(threadId);
      return "found";
    },
  });
  return { service: defineService({ name: "watchful", functions: [lookUp] }), overlaps };
}

type System = Awaited<ReturnType<typeof startSystem>>;

/** One query at a random endpoint, by a client that may cancel or disconnect at a random moment. */
async function askSomehow(system: System, threadId: string, dice: Dice): Promise<void> {
  const path = `/agents/${system.agentId}`;
  if (dice.chance(0.4)) return void (await system.query("hi", { threadId }));
  const events = dice.between(1, 9);
  const [cancels, leaves] = [dice.chance(0.4), dice.chance(0.2)];
  const leaving = new AbortController();
  const response = await fetch(`${system.url}${path}/query-stream`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": system.apiKey },
    body: JSON.stringify({ query: "hi", threadId }),
    signal: leaving.signal,
  });
  const reader = readAlong(response);
  const moment = reader.seen(new RegExp(`^id: ${events}$`, "m")).catch(() => {});
  if (cancels) await moment.then(() => system.post(`${path}/runs/${reader.runId}/cancel`, {}));
  if (leaves) await moment.then(() => leaving.abort());
  await reader.over;
}

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;

test("200 concurrent queries on 20 threads, cancelled and abandoned at random, keep all invariants", async () => {
  const seed = randomInt(2 ** 31);
  const dice = createDice(seed);
  process.stderr.write(`load: seed ${seed}\n`);
  await using folder = await temporaryFolder();
  const file = join(folder.path, "data.db");
  const { service, overlaps } = watchfulService();
  await using system = await startSystem({ database: `sqlite:${file}`, model: twoSteps() });
  const runtime = await system.connect(service);
  const { agentId, plane } = system;
  const threads = await Promise.all(Array.from({ length: THREADS }, () => system.query("Begin")));
  const idleTimers = timers();

  const asked = Array.from({ length: QUERIES }, (_, index) =>
    askSomehow(system, threads[index % THREADS]!.threadId, dice),
  );
  await Promise.all(asked);
  const running = async () => (await plane.store.runs.list(agentId, { limit: 1_000 })).some((run) => !run.finishedAt);
  await until(async () => !(await running()), "the end of every run");

  expect(overlaps).toEqual([]);
  const { runs, succeeded } = await expectSoundRuns(file);
  expect(runs).toBe(THREADS + QUERIES);
  expect(succeeded).toBeGreaterThan(THREADS + 40);
  expectOneAtATime(file);

  // Nothing remains: no stream, no timer of a run or a reader, no call or result at a runtime.
  await until(
    async () => /^patchbay_streams_open 0$/m.test(await (await system.get("/metrics")).text()),
    "idle streams",
  );
  // The service's own loops start timers too; leaked timers of queries would be far more.
  await until(() => timers() < idleTimers + 10, "idle timers");
  await expectNothingKept(runtime);
});

/** Expects that runs with a turn did not overlap within their thread. */
function expectOneAtATime(file: string): void {
  using database = readDatabase(file);
  const overlapping = database.rows(`
    select a.id from runs a join runs b on a.thread_id = b.thread_id and a.position < b.position
    where a.started_at is not null and b.started_at is not null and b.started_at < a.finished_at
      and exists (select 1 from turns where run_id = a.id) and exists (select 1 from turns where run_id = b.id)`);
  expect(overlapping).toEqual([]);
}
