import { afterEach, expect, test } from "vitest";
import { gated } from "../../../../test/support/hand-service.ts";
import { until } from "../../../../test/support/inbox.ts";
import { startCluster, timesRun, type Cluster, type Replica } from "./cluster.ts";

let cluster: Cluster;
const signal = new AbortController().signal;

afterEach(() => cluster[Symbol.asyncDispose]());

/** The run is at x, its runtime at y; once y is dead the runtime goes to z. */
async function start(...more: Parameters<Cluster["connectRuntime"]> extends [unknown, ...infer Rest] ? Rest : never) {
  cluster = await startCluster(["x", "y", "z"]);
  const [x, y, z] = cluster.replicas as [Replica, Replica, Replica];
  const desk = await cluster.connectRuntime(y, ...more);
  const run = await cluster.startRun(x);
  const killHolder = (): void => {
    y.kill();
    desk.proxy.retarget(z.server.port);
  };
  return { x, y, z, desk, run, killHolder };
}

const once = async (desk: { service: { invoked: unknown[] } }, call: Promise<{ ending: unknown }>): Promise<void> => {
  expect((await call).ending).toMatchObject({ ok: true });
  expect(desk.service.invoked).toHaveLength(1);
};

test("a holder that dies before it takes a call: the call runs once, over the runtime's next link", async () => {
  const { x, y, desk, run, killHolder } = await start();
  y.before("accept", killHolder);

  await once(desk, cluster.callToEnd(x, run));
});

test("a holder that dies after it took a call, before it sent it: the call runs once", async () => {
  const { x, y, desk, run, killHolder } = await start();
  y.after("accept", killHolder);

  await once(desk, cluster.callToEnd(x, run));
});

test("a holder that dies with a call waiting for a place: the call runs once", async () => {
  const gate = gated();
  const { x, desk, run, killHolder } = await start({ answer: gate.answer, concurrency: 1 });
  const first = cluster.callToEnd(x, run);
  await until(() => gate.started(1), "the first call");
  const second = cluster.callToEnd(x, run);
  await until(() => cluster.hub.carried.includes("reply call 2"), "the second call taken");

  killHolder();
  gate.open();

  expect((await first).ending).toMatchObject({ ok: true });
  expect((await second).ending).toMatchObject({ ok: true });
  expect([...timesRun([desk]).values()]).toEqual([1, 1]);
});

test("a holder that dies while the call runs: the runtime is asked over its next link", async () => {
  const gate = gated();
  const { x, desk, run, killHolder } = await start({ answer: gate.answer });
  const call = cluster.callToEnd(x, run);
  await until(() => gate.started(1), "the call");

  killHolder();
  gate.open();

  await once(desk, call);
});

test("a holder that dies with the result, before it is stored: the runtime gives it again", async () => {
  const { x, y, desk, run, killHolder } = await start();
  y.before("arrive", killHolder);

  await once(desk, cluster.callToEnd(x, run));
});

test("a holder that dies after the result is stored, before it acknowledges or tells: the store has it", async () => {
  const { x, y, desk, run, killHolder } = await start();
  y.after("arrive", killHolder);

  await once(desk, cluster.callToEnd(x, run));
});

test("a holder whose word of the result is lost as it dies: the store has it, though the runtime was told to forget it", async () => {
  const { x, desk, run, killHolder } = await start();
  cluster.hub.fate = ({ label }) => {
    if (label !== "publish arrived") return "pass";
    setTimeout(killHolder, 20);
    return "drop";
  };

  await once(desk, cluster.callToEnd(x, run));
});

test("the run's replica and the holder die together: the run's next owner has the outcome", async () => {
  const gate = gated();
  const { x, z, desk, run, killHolder } = await start({ answer: gate.answer });
  const order = await cluster.intend(run, desk.instanceId);
  x.gateway.deliver(order, { signal }).catch(() => {});
  await until(() => gate.started(1), "the call");

  x.kill();
  killHolder();
  await cluster.takeOver(run, z);
  const recovered = z.gateway.recover({ ...order, fence: run.fence }, { signal });
  await desk.at(z);
  gate.open();

  expect(await recovered).toMatchObject({ kind: "outcome", outcome: { ok: true } });
  expect(desk.service.invoked).toHaveLength(1);
});

test("the run's replica dies and the result is stored before its next owner asks", async () => {
  const gate = gated();
  const { x, z, desk, run } = await start({ answer: gate.answer });
  const order = await cluster.intend(run, desk.instanceId);
  x.gateway.deliver(order, { signal }).catch(() => {});
  await until(() => gate.started(1), "the call");
  x.kill();
  gate.open();
  await until(async () => (await cluster.store.calls.arrivals([order.callId])).length === 1, "the arrival");
  await cluster.takeOver(run, z);

  expect(await z.gateway.recover({ ...order, fence: run.fence }, { signal })).toMatchObject({ kind: "outcome" });
  expect(desk.service.invoked).toHaveLength(1);
});

test("only where runtime and holder are both gone is the outcome unknown", async () => {
  const gate = gated();
  const { x, y, desk, run } = await start({ answer: gate.answer });
  const call = cluster.callToEnd(x, run);
  await until(() => gate.started(1), "the call");

  desk.die();
  y.kill();

  expect((await call).ending).toBe("unknown");
});

test("an attempt is either taken or taken back, never both, however the two meet", async () => {
  const { x, y, desk, run } = await start();
  let taken = 0;
  for (let round = 0; round < 200; round++) {
    const { callId, attempt, fence } = await cluster.intend(run, desk.instanceId);
    const accept = () => cluster.store.calls.accept({ callId, attempt, fence, replicaId: y.name });
    const withdraw = () => cluster.store.calls.withdraw({ callId, attempt });
    const [order, back] =
      round % 2 === 0
        ? await Promise.all([accept(), withdraw()])
        : (await Promise.all([withdraw(), accept()])).toReversed();
    expect(order === undefined).toBe(back);
    if (order) taken++;
  }
  expect(taken).toBeGreaterThan(0);
  expect(taken).toBeLessThan(200);
  expect(x.gateway.connectionCount()).toBe(0);
});

test("a call withdrawn while its holder asks for it runs once, as the next attempt", async () => {
  const { x, y, desk, run } = await start();
  // The holder is slower with the row than the run is patient: the run takes the attempt back, and offers the next.
  y.before("accept", () => new Promise((resolve) => setTimeout(resolve, 300)));

  const call = await cluster.callToEnd(x, run);

  expect(call.ending).toMatchObject({ ok: true });
  expect(call.attempts).toBeGreaterThan(1);
  expect(desk.service.invoked).toHaveLength(1);
});
