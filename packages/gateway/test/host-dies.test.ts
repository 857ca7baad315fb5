import { afterEach, expect, test } from "vitest";
import { gated } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { startCluster, timesRun, type Cluster, type RuntimeChange } from "./cluster.ts";
import { WATCHFUL } from "./times.ts";

let cluster: Cluster;
const signal = new AbortController().signal;

afterEach(() => cluster[Symbol.asyncDispose]());

/** x has the run and y, the host, its runtime; after the death of y the runtime connects to z. */
async function start(change?: RuntimeChange, options: Parameters<typeof startCluster>[1] = {}) {
  cluster = await startCluster(["x", "y", "z"], { ...WATCHFUL, ...options });
  const placed = await cluster.place(change);
  const { y, z, desk } = placed;
  const killHost = (): void => {
    y.kill();
    desk.proxy.retarget(z.server.port);
  };
  return { ...placed, killHost };
}

const once = async (desk: { service: { invoked: unknown[] } }, call: Promise<{ ending: unknown }>): Promise<void> => {
  expect((await call).ending).toMatchObject({ ok: true });
  expect(desk.service.invoked).toHaveLength(1);
};

test("a call whose host dies before it takes the call runs once, over the runtime's next connection", async () => {
  const { x, y, desk, run, killHost } = await start();
  y.before("accept", killHost);

  await once(desk, cluster.callToEnd(x, run));
});

test("a call whose host dies between taking and sending it runs once", async () => {
  const { x, y, desk, run, killHost } = await start();
  y.after("accept", killHost);

  await once(desk, cluster.callToEnd(x, run));
});

test("a call that is queued when its host dies runs once", async () => {
  const gate = gated();
  const { x, desk, run, killHost } = await start({ answer: gate.answer, concurrency: 1 });
  const first = cluster.callToEnd(x, run);
  await until(() => gate.started(1), "the first call");
  const second = cluster.callToEnd(x, run);
  await until(() => cluster.hub.carried.includes("reply call 2"), "the second call taken");

  killHost();
  gate.open();

  expect((await first).ending).toMatchObject({ ok: true });
  expect((await second).ending).toMatchObject({ ok: true });
  expect([...timesRun([desk]).values()]).toEqual([1, 1]);
});

test("a call that runs when its host dies is queried over the next connection", async () => {
  const gate = gated();
  const { x, desk, run, killHost } = await start({ answer: gate.answer });
  const call = cluster.callToEnd(x, run);
  await until(() => gate.started(1), "the call");

  killHost();
  gate.open();

  await once(desk, call);
});

test("a result whose host dies before it is acknowledged is sent again by the runtime", async () => {
  const { x, desk, run, killHost } = await start();
  cluster.hub.fate = ({ label }) => {
    if (label === "publish answered") setTimeout(killHost, 0);
    return "pass";
  };

  await once(desk, cluster.callToEnd(x, run));
  await desk.connection.stop(); // waits for the acknowledgement
});

test("a result whose host dies before storing it is sent again by the runtime", async () => {
  const { x, y, desk, run, killHost } = await start();
  cluster.hub.loseAnswers();
  y.before("arrive", killHost);

  await once(desk, cluster.callToEnd(x, run));
});

test("a result whose host dies between storing and announcing it is read from the store", async () => {
  const { x, y, desk, run, killHost } = await start();
  cluster.hub.loseAnswers();
  y.after("arrive", killHost);

  await once(desk, cluster.callToEnd(x, run));
});

test("a result whose announcement is lost is read from the store, although the runtime has forgotten it", async () => {
  const { x, desk, run, killHost } = await start();
  cluster.hub.fate = ({ label }) => {
    if (label === "publish answered") return "drop";
    if (label !== "publish stored") return "pass";
    setTimeout(killHost, 20);
    return "drop";
  };

  await once(desk, cluster.callToEnd(x, run));
});

test("when the run's replica and the host both die, the run's next replica recovers the outcome", async () => {
  const gate = gated();
  const { x, z, desk, run, killHost } = await start({ answer: gate.answer });
  const order = await cluster.intend(run, desk.instanceId);
  x.gateway.deliver(order, { signal }).catch(() => {});
  await until(() => gate.started(1), "the call");

  x.kill();
  killHost();
  await cluster.takeOver(run, z);
  const recovered = z.gateway.recover({ ...order, fence: run.fence }, { signal });
  await desk.at(z);
  gate.open();

  expect(await recovered).toMatchObject({ kind: "outcome", outcome: { ok: true } });
  expect(desk.service.invoked).toHaveLength(1);
});

test("when the run's replica dies, the next one recovers a result that was stored in between", async () => {
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

test("when the runtime and its host are both gone, the outcome is unknown", async () => {
  const gate = gated();
  const { x, y, desk, run } = await start({ answer: gate.answer }, { reconnectMs: 1_000 });
  const call = cluster.callToEnd(x, run);
  await until(() => gate.started(1), "the call");

  desk.die();
  y.kill();

  expect((await call).ending).toBe("unknown");
});

test("an attempt is either accepted or withdrawn, never both, in any order of the two", async () => {
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

test("a call that is withdrawn while its host claims it runs once, as the next attempt", async () => {
  const { x, y, desk, run } = await start();
  // The host's claim takes longer than the run waits: the run withdraws the attempt and offers the next one.
  cluster.hub.isPatient = false;
  y.before("accept", () => until(() => cluster.hub.carried.includes("request call 2"), "the next attempt"));

  const call = await cluster.callToEnd(x, run);

  expect(call.ending).toMatchObject({ ok: true });
  expect(call.attempts).toBeGreaterThan(1);
  expect(desk.service.invoked).toHaveLength(1);
});
