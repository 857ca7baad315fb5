import { defineFunction, defineService, everyone, RetryableError, silentLog } from "@patchbay/functions";
import { connectOver } from "@patchbay/runtime/connection/connect";
import type { ModelProvider } from "@patchbay/engine/ports/model-provider";
import { createNetwork } from "@patchbay/test-support/network";
import { inVirtualTime } from "@patchbay/test-support/virtual-time";
import { Process, type World } from "@patchbay/test-support/world";
import { until } from "@patchbay/test-support/inbox";
import { expect, test } from "vitest";
import { z } from "zod";
import { AGENT, KEYS } from "./clients.ts";
import { setUp } from "./cluster.ts";
import { type Replica, startReplica } from "./replica.ts";
import { openSqlite } from "./store.ts";

const PAUSE_MS = 1_000;

/** Calls `flaky` once, then answers. */
const model: ModelProvider = {
  name: "scripted",
  async *stream({ messages, model }) {
    const calls = messages.length === 1 ? [{ id: "call-1", name: "flaky", arguments: "{}" }] : [];
    const usage = { input: 100, cachedInput: 0, output: 10 };
    const stop = calls.length > 0 ? ("calls" as const) : ("stop" as const);
    yield { type: "end", turn: { text: calls.length > 0 ? "" : "Done.", thoughts: [], calls, stop, usage, model } };
  },
};

type Victim = "runtime" | "replica" | "none";

/** Calls a function with three attempts, which always fails, and kills runtimes between all attempts or the replica after the first. */
async function attemptsWith(world: World, victim: Victim) {
  // The network reports each crash at once.
  world.random.chance = () => false;
  const { store, open } = await openSqlite(world);
  await setUp(store);
  const attempts: { attempt: number; process: Process; atMs: number }[] = [];
  let replica: Replica;
  function serve(generation: number): void {
    const options = { world, open, join: undefined, model, runTimeoutMs: 60_000, killAt: undefined };
    replica = startReplica(`replica.${generation}`, { ...options, receive: async () => 200 });
  }
  serve(0);
  const network = createNetwork(world, () => {
    const { process, core } = replica;
    if (!process.alive || !core) return undefined;
    return { process, accept: (...link) => core.gateway.accept(...link, { keyId: "key_runtime", ...AGENT }) };
  });
  const flaky = defineFunction({
    name: "flaky",
    description: "Always fails.",
    input: z.object({}),
    roles: everyone,
    effect: "read",
    retries: { max: 3 },
    handler: async (_, { attempt }) => {
      const { process } = world;
      attempts.push({ attempt, process, atMs: world.now });
      world.after(PAUSE_MS / 2, world.machine, () => {
        if (victim === "runtime") process.kill();
        if (victim !== "replica" || attempt > 1) return;
        replica.process.kill();
        serve(attempt);
      });
      throw new RetryableError({ message: "busy", afterMs: PAUSE_MS });
    },
  });
  for (let i = 0; i < 4; i++)
    world.in(new Process(`runtime-${i}`), () =>
      connectOver(network.openSocket, defineService({ name: "shop", roles: ["clerk"], functions: [flaky] }), {
        url: "ws://simulated",
        key: "rk_simulated",
        log: silentLog,
      }),
    );
  await until(() => replica.core?.gateway.connectionCount() === 4, "the runtimes");
  const caller = { keyId: KEYS.clerk, ...AGENT, tier: "scale", roles: ["clerk"] };
  const query = { query: "Try", role: "clerk", analysisMode: false, respondAsync: true };
  const { runId } = await world.in(replica!.process, () => replica.core!.runs.start(caller, query));
  const call = store.engine.db.selectFrom("calls").select("outcome").where("run_id", "=", runId);
  let outcome: string | null | undefined;
  await until(async () => !!(outcome = (await call.executeTakeFirst())?.outcome), "the end of the call");
  replica!.process.kill();
  await store.close();
  return { attempts, outcome: JSON.parse(outcome!) as object };
}

test.each([
  { victim: "none", expected: [1, 2, 3] },
  { victim: "runtime", expected: [1, 2, 3] },
  // The second attempt was stored before the crash, and never sent.
  { victim: "replica", expected: [1, 3, 4] },
] as const)("a call with three attempts starts three handlers, whatever crashes between: $victim", async (row) => {
  const { attempts, outcome } = await inVirtualTime(({ world }) => attemptsWith(world, row.victim));

  expect(attempts.map(({ attempt }) => attempt)).toEqual(row.expected);
  expect(outcome).toMatchObject({ ok: false, code: "function_failed" });
  if (row.victim === "replica") return;
  const pauses = attempts.slice(1).map(({ atMs }, i) => atMs - attempts[i]!.atMs);
  expect(pauses).toEqual([expect.closeTo(PAUSE_MS, -2), expect.closeTo(PAUSE_MS, -2)]);
});
