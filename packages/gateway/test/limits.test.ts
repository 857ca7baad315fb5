import { setTimeout as delay } from "node:timers/promises";
import { CLOSE_CODES, type OperatorLimits } from "@patchbay/protocol";
import { afterEach, expect, test, vi } from "vitest";
import { consoleOf } from "../../store/test/contract/world.ts";
import { silentMetrics } from "@patchbay/engine/ports/metrics";
import { orderFor, startGateway, type GatewayServer } from "@patchbay/test-support/gateway-server";
import { dialGateway, joinGateway, helloFrom } from "@patchbay/test-support/fake-runtime";
import { until } from "@patchbay/test-support/inbox";
import { refusedHello } from "./hand-calls.ts";

let server: GatewayServer;
const counted = { refused: [] as string[], dropped: 0 };

afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await server[Symbol.asyncDispose]();
});

async function start(limits: Partial<OperatorLimits> = {}): Promise<void> {
  counted.refused = [];
  counted.dropped = 0;
  const metrics = {
    ...silentMetrics,
    runtimeRefused: (reason: string) => void counted.refused.push(reason),
    frameDropped: () => void counted.dropped++,
  };
  server = await startGateway({ limits, metrics });
}

const greetAs = (instanceId: string) => joinGateway(server.port, helloFrom(instanceId));

test("64 simultaneous connections of a key are welcomed, and the next one is refused with 429", async () => {
  await start();
  const runtimes = await Promise.all(Array.from({ length: 64 }, (_, index) => greetAs(`instance-${index}`)));

  expect(await dialGateway(server.port).refused).toBe(429);
  expect(counted.refused).toEqual(["connectionsPerKey"]);
  await joinGateway(server.port, helloFrom("another"), { Authorization: "Bearer other-key-of-a" });

  runtimes[0]!.socket.close();
  await runtimes[0]!.closed;
  await greetAs("instance-64");
});

test("of simultaneous connections no more than the limit are welcomed", async () => {
  await start({ connectionsPerKey: 5 });
  const dialled = Array.from({ length: 20 }, () => dialGateway(server.port));

  const answers = await Promise.all(
    dialled.map(({ socket, refused }) => Promise.race([refused, new Promise((open) => socket.once("open", open))])),
  );

  expect(answers.filter((answer) => answer === 429)).toHaveLength(15);
});

test("connections of a key beyond its limit per minute are refused with 429", async () => {
  await start({ hellosPerMinute: 3 });
  for (let i = 0; i < 3; i++) {
    const runtime = await greetAs("instance-1");
    runtime.socket.close();
    await runtime.closed;
  }

  expect(await dialGateway(server.port).refused).toBe(429);
  expect(counted.refused).toEqual(["hellosPerMinute"]);
});

const names = (count: number) => Array.from({ length: count }, (_, index) => `role-${index}`);
const { manifest } = helloFrom("x");
const [echo] = manifest.functions;
const withRoles = (count: number, own: string[] = []) => ({
  ...manifest,
  roles: own,
  functions: Array.from({ length: Math.ceil(count / 100) }, (_, index) => ({
    ...echo,
    name: `echo_${index}`,
    roles: names(count).slice(index * 100, (index + 1) * 100),
  })),
});

test("a function set with 200 roles is accepted, and one with 100 roles on one function", async () => {
  await start();
  await joinGateway(server.port, { ...helloFrom("instance-1"), manifest: withRoles(200, names(50)) });
  const [own] = withRoles(100).functions;
  await joinGateway(server.port, { ...helloFrom("instance-1"), manifest: { ...manifest, functions: [own] } });

  expect(counted.refused).toEqual([]);
});

const longText = { ...manifest, functions: [{ ...echo, description: "x".repeat(524_288) }] };

test.each([
  ["more roles than a service may have", withRoles(200, ["one-more"]), "201 roles exceed rolesPerService (200)"],
  [
    "a default role beyond them",
    { ...withRoles(200), defaultRole: "one-more" },
    "201 roles exceed rolesPerService (200)",
  ],
  [
    "more roles than a function may have",
    { ...manifest, functions: [{ ...echo, roles: names(101) }] },
    "101 roles of echo exceed rolesPerFunction (100)",
  ],
  ["more bytes than a function set may have", longText, "bytes exceed manifestBytes (524288)"],
] as const)("a function set with %s is refused with a reason that says what to do", async (_, set, expected) => {
  await start();

  const { code, reason } = await refusedHello(server.port, { ...helloFrom("instance-1"), manifest: set });

  expect(code).toBe(CLOSE_CODES.manifestRefused);
  expect(reason).toContain(expected);
  expect(reason).toMatch(/\)\. [A-Z].*\.$/);
  expect(counted.refused).toEqual(["manifestRefused"]);
  expect(server.store.opened).toEqual([]);
});

test("a function set with more functions than an agent may have is refused with a reason that says what to do", async () => {
  await start();
  const functions = Array.from({ length: 201 }, (_, i) => ({ ...echo, name: `echo_${i}` }));

  const { code, reason } = await refusedHello(server.port, {
    ...helloFrom("instance-1"),
    manifest: { ...manifest, functions },
  });

  expect(code).toBe(CLOSE_CODES.manifestRefused);
  expect(reason).toBe("manifest.functions: 201 functions exceed the limit of 200. Split the service into two agents.");
});

test.each([
  ["without a name", "", "manifest.name: a service needs a name"],
  ["with a name of 201 characters", "x".repeat(201), "manifest.name: a service name has at most 200 characters"],
])("a service %s is refused", async (_, name, expected) => {
  await start();
  const hello = { ...helloFrom("instance-1"), manifest: { ...manifest, name } };

  const { code, reason } = await refusedHello(server.port, hello);

  expect(code).toBe(CLOSE_CODES.manifestRefused);
  expect(reason).toContain(expected);
  expect(server.store.opened).toEqual([]);
});

test("a service with a name of 200 characters is accepted", async () => {
  await start();
  const named = { ...manifest, name: "x".repeat(200) };

  await joinGateway(server.port, { ...helloFrom("instance-1"), manifest: named });

  expect(server.store.opened).toHaveLength(1);
});

test("the operator's limits replace the defaults", async () => {
  await start({ rolesPerService: 300, rolesPerFunction: 300, manifestBytes: 1_000_000 });

  await joinGateway(server.port, { ...helloFrom("instance-1"), manifest: withRoles(250) });
  await joinGateway(server.port, { ...helloFrom("instance-1"), manifest: longText });

  expect(counted.refused).toEqual([]);
});

test("beyond the limit of function sets the oldest are deleted, except those of connected runtimes", async () => {
  await start({ functionSetsPerAgent: 3 });
  await joinGateway(server.port, helloFrom("connected", ["connected"]));
  for (let i = 0; i < 5; i++) {
    const runtime = await joinGateway(server.port, helloFrom(`instance-${i}`, [`function_${i}`]));
    runtime.socket.close();
    await until(() => server.store.closed.length === i + 1, "the end of the connection");
  }
  await joinGateway(server.port, helloFrom("last", ["last"]));

  const { items } = await consoleOf(server.store.all).functions.sets(
    { orgId: "org", agentId: "agent-a" },
    { limit: 10 },
  );
  const names = items.map(({ functions }) => functions[0]!);
  expect(names.toSorted()).toEqual(["connected", "function_4", "last"]);
});

/** No test lasts until a further frame is admitted. */
const REFILL = { framesPerSecond: 0.001 };

const result = (callId: string) => ({ type: "result", callId, attempt: 1, outcome: { ok: true, value: 1 } });

test("unexpected frames beyond the burst are dropped and counted", async () => {
  await start({ ...REFILL, frameBurst: 10 });
  const arrived = vi.spyOn(server.store.all.calls, "arrive");
  const runtime = await greetAs("instance-1");

  for (let i = 0; i < 25; i++) runtime.send(result(`unknown-${i}`));
  await until(() => counted.dropped === 15, "15 dropped frames");
  await until(() => arrived.mock.calls.length === 10, "10 stored results");

  expect(server.gateway.connectionCount()).toBe(1);
});

test("late results are stored 32 at a time", async () => {
  await start();
  const runtime = await greetAs("instance-1");
  const release = Promise.withResolvers<void>();
  const { arrive } = server.store.all.calls;
  const arrived = vi.spyOn(server.store.all.calls, "arrive").mockImplementation(async (...input) => {
    await release.promise;
    return arrive(...input);
  });
  for (let i = 0; i < 200; i++) runtime.send(result(`unknown-${i}`));
  await runtime.read();
  expect(arrived).toHaveBeenCalledTimes(32);

  release.resolve();

  for (let i = 0; i < 200; i++) await runtime.next("resultAck");
});

test("results of calls that were sent to the runtime, and answers to questions, do not count against the limit", async () => {
  await start({ ...REFILL, frameBurst: 1 });
  const runtime = await joinGateway(server.port, helloFrom("instance-1", ["echo"], 100));
  runtime.send(result("unknown"));
  const { signal } = new AbortController();
  const orders = Array.from({ length: 50 }, () => orderFor("instance-1"));

  const deliveries = Promise.all(orders.map((order) => server.gateway.deliver(order, { signal })));
  for (const _ of orders) runtime.send(result((await runtime.next("call")).callId));

  expect(await deliveries).toEqual(orders.map(() => ({ kind: "outcome", outcome: { ok: true, value: 1 } })));
  const asked = orderFor("instance-1");
  const recovered = server.gateway.recover(asked, { signal });
  const { callId } = await runtime.next("callQuery");
  runtime.send({ type: "callState", callId, attempt: 1, state: "running" });
  runtime.send(result(callId));
  expect(await recovered).toMatchObject({ kind: "outcome", outcome: { ok: true } });
  expect(counted.dropped).toBe(0);
});

test("a second result of a call counts against the limit, and so does a second draining frame", async () => {
  await start({ ...REFILL, frameBurst: 3 });
  const runtime = await greetAs("instance-1");
  const { signal } = new AbortController();
  const order = orderFor("instance-1");
  const delivery = server.gateway.deliver(order, { signal });
  await runtime.next("call");
  const drained = vi.spyOn(server.store, "connectionDraining");

  for (let i = 0; i < 3; i++) runtime.send(result(order.callId));
  for (let i = 0; i < 3; i++) runtime.send({ type: "draining" });

  await delivery;
  await until(() => counted.dropped === 1, "the dropped frame");
  expect(drained).toHaveBeenCalledTimes(1);
});

test("progress beyond the limit is dropped, and its call ends normally", async () => {
  await start({ ...REFILL, frameBurst: 3 });
  const runtime = await greetAs("instance-1");
  const { signal } = new AbortController();
  const shown: unknown[] = [];
  const order = orderFor("instance-1");
  const delivery = server.gateway.deliver(order, { signal, onProgress: (data) => shown.push(data) });
  await runtime.next("call");

  for (let i = 0; i < 10; i++) runtime.send({ type: "progress", callId: order.callId, data: i });
  runtime.send(result(order.callId));

  expect(await delivery).toMatchObject({ kind: "outcome", outcome: { ok: true } });
  expect(shown).toEqual([0, 1, 2]);
  expect(counted.dropped).toBe(7);
});

test("a connection that exceeds its limit for ten seconds is closed with a reason", async () => {
  await start({ framesPerSecond: 1, frameBurst: 20 });
  const runtime = await greetAs("instance-1");
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  const drops = async (count: number) => {
    const before = counted.dropped;
    for (let i = 0; i < count; i++) runtime.send(result("unknown"));
    // Not until(), which would wait for the fake timers.
    while (counted.dropped === before) await delay(5);
  };

  await drops(21);
  for (let seconds = 0; seconds < 10; seconds += 2.5) {
    expect(counted.refused).toEqual([]);
    vi.advanceTimersByTime(2_500);
    await drops(10);
  }

  expect(await runtime.closed).toEqual({ code: CLOSE_CODES.tooManyFrames, reason: "over 1 frames a second for 10 s" });
  expect(counted.refused).toEqual(["tooManyFrames"]);
});

test("pings count against the limit, since their answers fill the memory when the runtime does not read", async () => {
  await start({ ...REFILL, frameBurst: 5 });
  const runtime = await greetAs("instance-1");

  for (let i = 0; i < 8; i++) runtime.socket.ping();

  await until(() => counted.dropped === 3, "three pings beyond the limit");
});
