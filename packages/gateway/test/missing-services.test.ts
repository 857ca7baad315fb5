import { afterEach, expect, test } from "vitest";
import { lastSeenAgo, startGateway, systemClock, type GatewayServer } from "@patchbay/test-support/gateway-server";
import { joinGateway, helloFrom, type FakeRuntime } from "@patchbay/test-support/fake-runtime";
import { fakeManifest } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import type { FunctionGatewayOptions } from "../src/gateway.ts";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";

let server: GatewayServer;
/** How often the store was asked when a runtime was last seen. */
let questions: number;

afterEach(() => server[Symbol.asyncDispose]());

async function start(options: Partial<Pick<FunctionGatewayOptions, "arrivalMs" | "clock">> = {}): Promise<void> {
  server = await startGateway(options);
  questions = 0;
  server.store.lastSeen = async () => {
    questions++;
    return lastSeenAgo(server.store.agoMs, server.store.startedAgoMs);
  };
}

const connect = (name: string, functions: string[], hooks: object = {}): Promise<FakeRuntime> =>
  joinGateway(server.port, {
    ...helloFrom(`${name}-1`, functions),
    manifest: { ...fakeManifest(functions), name, ...hooks },
  });

async function leave({ socket }: FakeRuntime, agoMs: number): Promise<void> {
  const count = server.gateway.connectionCount();
  socket.terminate();
  await until(() => server.gateway.connectionCount() === count - 1, "the connection is gone");
  server.store.agoMs = agoMs;
}

/** The services of a new run, and those that are missing. */
async function session() {
  const found = await server.gateway.session("agent-a", { signal: new AbortController().signal });
  return (
    found && {
      services: found.services.map(({ service }) => service),
      missing: found.missing.map(({ service }) => service),
    }
  );
}

/** A clock whose sleeps end immediately and are recorded. */
function instantClock() {
  const slept: number[] = [];
  return { slept, clock: { ...systemClock, sleep: async (ms: number) => void slept.push(ms) } };
}

test("a second service that was seen 5 s ago is waited for, and the wait ends when it connects", async () => {
  await start({ arrivalMs: 60_000 });
  await connect("desk", ["wipe"]);
  await leave(await connect("mail", ["send"]), 5_000);
  const found = session();
  await until(() => questions > 0, "the gateway looks for the second service");

  await connect("mail", ["send"]);

  expect(await found).toEqual({ services: ["desk", "mail"], missing: [] });
});

test("a second service that does not connect within 15 s is named as missing, and the session has the first", async () => {
  const { slept, clock } = instantClock();
  await start({ clock });
  await connect("desk", ["wipe"]);
  await leave(await connect("mail", ["send"]), 59_999);

  expect(await session()).toEqual({ services: ["desk"], missing: ["mail"] });
  expect(slept).toEqual([15_000]);
});

test("a second service that was seen a minute ago is not waited for, and looked up at most once a second", async () => {
  const { slept, clock } = instantClock();
  await start({ clock });
  await connect("desk", ["wipe"]);
  await leave(await connect("mail", ["send"]), 60_000);
  const beganAt = performance.now();

  for (let i = 0; i < 50; i++) expect(await session()).toEqual({ services: ["desk"], missing: [] });

  expect(slept).toEqual([]);
  expect(questions).toBeLessThanOrEqual(1 + (performance.now() - beganAt) / 1_000);
});

test("while every service is connected, the store is not asked when they were seen", async () => {
  await start();
  server.store.agoMs = 0;
  await connect("desk", ["wipe"]);
  await session();
  await connect("mail", ["send"]);

  expect(await session()).toEqual({ services: ["desk", "mail"], missing: [] });
  expect(questions).toBe(0);
});

test("a service whose function another one has taken over is not waited for", async () => {
  const { slept, clock } = instantClock();
  await start({ clock });
  await leave(await connect("desk", ["wipe"]), 0);
  await connect("archive", ["wipe"]);

  expect(await session()).toEqual({ services: ["archive"], missing: [] });
  expect(slept).toEqual([]);
});

test("a missing service is named with whether it has hooks", async () => {
  const { clock } = instantClock();
  await start({ clock });
  await connect("desk", ["wipe"]);
  await leave(await connect("mail", ["send"]), 5_000);
  await leave(await connect("words", ["spell"], { beforeAnswer: true }), 5_000);
  const found = await server.gateway.session("agent-a", { signal: new AbortController().signal });

  expect(found?.missing.toSorted((a, b) => (a.service < b.service ? -1 : 1))).toEqual([
    { service: "mail", hasHooks: false },
    { service: "words", hasHooks: true },
  ]);
});

test("only services that were seen less than a minute ago are named as missing", async () => {
  const { clock } = instantClock();
  await start({ clock });
  await connect("desk", ["wipe"]);
  await leave(await connect("mail", ["send"]), 0);
  await leave(await connect("maps", ["find"]), 0);
  const sets = await server.store.functionSets("agent-a");
  const mail = sets.find(({ service }) => service === "mail")!.manifestHash;
  server.store.lastSeen = (async (_: string, hashes: string[]) =>
    lastSeenAgo(hashes.includes(mail) ? 5_000 : 60_000)) as typeof server.store.lastSeen;

  expect(await session()).toEqual({ services: ["desk"], missing: ["mail"] });
});

test("after a start, a service that was retired hours before is neither waited for nor missing", async () => {
  const { slept, clock } = instantClock();
  await start({ clock });
  await connect("desk", ["wipe"]);
  await leave(await connect("mail", ["send"]), 3_600_000);
  server.store.startedAgoMs = 1_000;

  expect(await session()).toEqual({ services: ["desk"], missing: [] });
  expect(slept).toEqual([]);
});

test("while the store is unavailable, the session has the connected services and waits for no others", async () => {
  const { slept, clock } = instantClock();
  await start({ clock });
  await connect("desk", ["wipe"]);
  await leave(await connect("mail", ["send"]), 0);
  server.store.lastSeen = () => Promise.reject(new StoreUnavailable("store is down"));

  expect(await session()).toEqual({ services: ["desk"], missing: [] });
  expect(slept).toEqual([]);
});
