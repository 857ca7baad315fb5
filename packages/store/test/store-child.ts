/** A process of its own for tests that kill it: `node store-child.ts write|spend|lock|open URL`. */
import { setTimeout as delay } from "node:timers/promises";
import { lockStore, openStore } from "../src/open.ts";
import { event, sampleRun } from "./contract/world.ts";

const [mode = "", url = ""] = process.argv.slice(2);

if (mode === "write") await writeForEver();
else if (mode === "spend") await reserveAtOnce();
else if (mode === "lock") await lockForEver();
else await (await openStore(url)).close();

/** Says `RUN SEQ` for each event that is stored. */
async function writeForEver(): Promise<void> {
  const store = await openStore(url);
  const run = sampleRun({ orgId: "org_1", agentId: "agt_1" });
  const started = await store.runs.start(run);
  if (started.kind !== "started") throw new Error(started.kind);
  for (let seq = 1; ; seq++) {
    await store.runs.commit(started.run, { events: [event(seq)], audit: [{ action: "step" }] });
    process.stdout.write(`${run.runId} ${seq}\n`);
  }
}

/** Starts 250 runs at once. Says for each what it reserved, and holds it. */
async function reserveAtOnce(): Promise<void> {
  const store = await openStore(url);
  const start = async () => {
    const run = sampleRun({ orgId: "org_1", agentId: "agt_1", owner: "replica-b", reserveMicros: 100 });
    const started = await store.runs.start(run);
    if (started.kind !== "started") throw new Error(started.kind);
    const held = started.reservedMicros || (await store.runs.reserve(run.orgId, run.runId, 0, 100));
    process.stdout.write(`${held ?? 0}\n`);
  };
  await Promise.all(Array.from({ length: 250 }, start));
  await delay(60_000);
}

async function lockForEver(): Promise<void> {
  await using _lock = await lockStore(url);
  process.stdout.write("locked\n");
  await delay(60_000);
}
