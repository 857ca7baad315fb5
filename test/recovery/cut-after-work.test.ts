import { connect, defineFunction, defineService, everyone, silentLog } from "@patchbay/functions";
import { expect, test } from "vitest";
import { callsOnce } from "../support/call-models.ts";
import { startChaosProxy } from "@patchbay/test-support/chaos-proxy";
import { printFigure } from "@patchbay/test-support/figures";
import { expectNothingKept } from "../support/invariants.ts";
import { until } from "@patchbay/test-support/inbox";
import { startSystem } from "@patchbay/test-support/system";

const ROUNDS = 50;
const AT_ONCE = 20;

/** A service whose calls are recorded, and end together when the test opens the gate of the round. */
function countedService(ran: string[], gate: () => Promise<void>) {
  const charge = defineFunction({
    name: "charge",
    description: "Charges.",
    input: { type: "object" },
    roles: everyone,
    async handler(_input, { callId }) {
      ran.push(callId);
      await gate();
      return { callId };
    },
  });
  return defineService({ name: "counted", functions: [charge] });
}

const backoff = { firstMs: 5, baseMs: 5, maxMs: 20 };

test("1,000 results are stored once after cuts before their arrival or their acknowledgement", async () => {
  const ran: string[] = [];
  let gate = Promise.withResolvers<void>();
  await using system = await startSystem({ model: callsOnce("charge") });
  await using proxy = await startChaosProxy(system.plane.port);
  const runtime = connect(
    countedService(ran, () => gate.promise),
    { url: `http://127.0.0.1:${proxy.port}`, key: system.runtimeKey, log: silentLog, backoff, concurrency: AT_ONCE },
  );
  await using _ = { [Symbol.asyncDispose]: () => runtime.stop({ drainMs: 0 }) };
  await runtime.ready;

  let delivered = 0;
  for (let round = 0; round < ROUNDS; round++) {
    gate = Promise.withResolvers();
    const asked = Array.from({ length: AT_ONCE }, () => system.query("hi"));
    await until(() => ran.length === (round + 1) * AT_ONCE, "the round's calls");
    // The proxy holds results back in one round, and acknowledgements in the next.
    proxy.hold(round % 2 === 0 ? "up" : "down");
    gate.resolve();
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    proxy.cut();
    for (const answer of await Promise.all(asked)) {
      expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: true }] });
      delivered++;
    }
    await until(() => runtime.state === "connected", "the next connection");
  }

  printFigure("connection cut after the handler", {
    calls: ROUNDS * AT_ONCE,
    delivered,
    "run again": ran.length - new Set(ran).size,
  });
  expect(new Set(ran).size).toBe(ROUNDS * AT_ONCE);
  expect(ran).toHaveLength(ROUNDS * AT_ONCE);
  await expectNothingKept(runtime);
});

test("a call whose connection is cut between its intent and its frame goes to another runtime, once", async () => {
  const ran: string[] = [];
  await using system = await startSystem({ model: callsOnce("charge") });
  await using proxy = await startChaosProxy(system.plane.port);
  const service = countedService(ran, async () => {});
  const { agentId, plane } = system;
  const connected = (count: number) => until(() => plane.connectedRuntimes(agentId) === count, `${count} runtimes`);
  const weak = connect(service, {
    url: `http://127.0.0.1:${proxy.port}`,
    key: system.runtimeKey,
    log: silentLog,
    backoff,
  });
  await using _ = { [Symbol.asyncDispose]: () => weak.stop({ drainMs: 0 }) };
  await weak.ready;

  let cuts = 0;
  const commit = plane.store.runs.commit;
  plane.store.runs.commit = async (lease, change) => {
    const stored = await commit(lease, change);
    if (!change.calls?.some(({ instanceId, outcome }) => instanceId === weak.instanceId && !outcome)) return stored;
    cuts++;
    proxy.refusing = true;
    proxy.cut();
    await connected(1);
    return stored;
  };
  const rounds = 100;
  await system.connect(service);
  for (let round = 0; round < rounds; round++) {
    await connected(2);
    const answer = await system.query("hi");
    expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: true }] });
    proxy.refusing = false;
  }

  expect(cuts).toBeGreaterThan(rounds / 4);
  expect(ran).toHaveLength(rounds);
  expect(new Set(ran).size).toBe(rounds);
  printFigure("connection cut between intent and frame", { calls: rounds, cuts, unknown: 0, "run twice": 0 });
});
