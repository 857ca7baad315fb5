import { setImmediate as nextTurn } from "node:timers/promises";
import { connect, defineFunction, defineService, everyone, silentLog } from "@patchbay/functions";
import { expect, test } from "vitest";
import { startChaosProxy } from "@patchbay/test-support/chaos-proxy";
import { expectNothingKept } from "../support/invariants.ts";
import { until } from "@patchbay/test-support/inbox";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

/** A system with a faulty network between its control plane and its runtime, and a function that waits for `release`. */
async function startApart() {
  await using opening = new AsyncDisposableStack();
  const runs: string[] = [];
  const gate = Promise.withResolvers<void>();
  const charge = defineFunction({
    name: "charge",
    description: "Charges.",
    input: { type: "object", properties: { note: { type: "string" } } },
    roles: everyone,
    async handler({ note }, { callId }) {
      runs.push(callId);
      await gate.promise;
      return { note };
    },
  });
  const note = "ü".repeat(2_000);
  const standIn = opening.use(await startStandIn("gemini", callThenAnswer([{ name: "charge", arguments: { note } }])));
  const system = opening.use(await startSystem({ providers: standIn.config, heartbeatMs: 500, reconnectMs: 60_000 }));
  const proxy = opening.use(await startChaosProxy(system.plane.port));
  const runtime = connect(defineService({ name: "apart", functions: [charge] }), {
    url: `http://127.0.0.1:${proxy.port}`,
    key: system.runtimeKey,
    log: silentLog,
    backoff: { firstMs: 10, baseMs: 10, maxMs: 50 },
  });
  opening.defer(() => runtime.stop({ drainMs: 0 }));
  await runtime.ready;
  const kept = opening.move();
  return {
    system,
    proxy,
    runtime,
    runs,
    note,
    release: gate.resolve,
    /** Resolves when the handler has started. */
    begun: () => until(() => runs.length > 0, "the call"),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
type Apart = Awaited<ReturnType<typeof startApart>>;

/** Network faults while a query waits for its call. */
const FAULTS: Record<string, (apart: Apart) => Promise<void>> = {
  "is cut while the function runs": async ({ proxy, release, begun }) => {
    await begun();
    proxy.cut();
    release();
  },
  "is cut with the function's result on its way": async ({ proxy, release, begun }) => {
    await begun();
    proxy.hold("up");
    release();
    for (let turn = 0; turn < 10; turn++) await nextTurn(); // the handler ends, and the proxy holds its result
    proxy.cut();
  },
  "is cut before the result is acknowledged": async ({ system, proxy, release, begun }) => {
    await begun();
    proxy.hold("down");
    release();
    await until(
      () => proxy.open === 0 || system.plane.connectedRuntimes(system.agentId) === 0,
      "the end of the connection",
    );
  },
  "drops everything, but stays open": async ({ proxy, release, begun }) => {
    await begun();
    proxy.hold("up", "down");
    release();
  },
  "is lost while the control plane is unreachable for a while": async ({ proxy, release, begun }) => {
    await begun();
    const before = proxy.accepted;
    proxy.refusing = true;
    proxy.cut();
    release();
    await until(() => proxy.accepted >= before + 3, "some attempts to reconnect");
    proxy.refusing = false;
  },
  "is slow": async ({ proxy, release }) => {
    proxy.delayMs = 20;
    release();
  },
  "passes single bytes": async ({ proxy, release }) => {
    proxy.pieceBytes = 1;
    release();
  },
};

test.each(Object.keys(FAULTS))(
  "a query runs its function once and has one result if the connection %s",
  async (fault) => {
    await using apart = await startApart();
    const { system, runtime, runs, note } = apart;
    const asked = system.query("hi");
    await FAULTS[fault]!(apart);

    const answer = await asked;
    expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: true, result: { note } }] });
    expect(answer.toolInteractions).toHaveLength(1);
    expect(runs).toHaveLength(1);
    const next = await system.query("hi again");
    expect(next).toMatchObject({ success: true, toolInteractions: [{ success: true, result: { note } }] });
    expect(runs).toHaveLength(2);

    await expectNothingKept(runtime);
  },
);
