import { afterEach, expect, test } from "vitest";
import { startGateway, systemClock, type GatewayServer } from "../../../../test/support/gateway-server.ts";
import { greetGateway, helloFrom, type HandRuntime } from "../../../../test/support/hand-runtime.ts";
import { handManifest } from "../../../../test/support/hand-service.ts";
import { until } from "../../../../test/support/inbox.ts";
import type { FunctionGatewayOptions } from "../../src/gateway/gateway.ts";
import { StoreUnavailable } from "../../src/ports/run-store.ts";

let server: GatewayServer;
/** Questions for when a runtime was last seen. */
let questions: number;

afterEach(() => server[Symbol.asyncDispose]());

async function start(options: Partial<Pick<FunctionGatewayOptions, "arrivalMs" | "clock">> = {}): Promise<void> {
  server = await startGateway(options);
  questions = 0;
  server.store.lastSeenAgoMs = async () => {
    questions++;
    return server.store.agoMs;
  };
}

const connect = (name: string, functions: string[], hooks: object = {}): Promise<HandRuntime> =>
  greetGateway(server.port, {
    ...helloFrom(`${name}-1`, functions),
    manifest: { ...handManifest(functions), name, ...hooks },
  });

async function leave({ socket }: HandRuntime, agoMs: number): Promise<void> {
  const count = server.gateway.connectionCount();
  socket.terminate();
  await until(() => server.gateway.connectionCount() === count - 1, "the connection is gone");
  server.store.agoMs = agoMs;
}

/** The services of a new run, and those that it lacks. */
async function session() {
  const found = await server.gateway.session("agent-a", { signal: new AbortController().signal });
  return (
    found && {
      services: found.services.map(({ service }) => service),
      missing: found.missing.map(({ service }) => service),
    }
  );
}

/** Notes how long it is asked to wait, and waits no time. */
function hastyClock() {
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

test("a second service that does not come back within 15 s is named, and the session goes on with the first", async () => {
  const { slept, clock } = hastyClock();
  await start({ clock });
  await connect("desk", ["wipe"]);
  await leave(await connect("mail", ["send"]), 59_999);

  expect(await session()).toEqual({ services: ["desk"], missing: ["mail"] });
  expect(slept).toEqual([15_000]);
});

test("a second service that was seen a minute ago is not waited for, and asked about at most once a second", async () => {
  const { slept, clock } = hastyClock();
  await start({ clock });
  await connect("desk", ["wipe"]);
  await leave(await connect("mail", ["send"]), 60_000);
  const beganAt = performance.now();

  for (let i = 0; i < 50; i++) expect(await session()).toEqual({ services: ["desk"], missing: [] });

  expect(slept).toEqual([]);
  expect(questions).toBeLessThanOrEqual(1 + (performance.now() - beganAt) / 1_000);
});

test("while every service is connected the store is not asked when they were seen", async () => {
  await start();
  server.store.agoMs = 0;
  await connect("desk", ["wipe"]);
  await session();
  await connect("mail", ["send"]);

  expect(await session()).toEqual({ services: ["desk", "mail"], missing: [] });
  expect(questions).toBe(0);
});

test("a service whose function another one has taken over is not waited for", async () => {
  const { slept, clock } = hastyClock();
  await start({ clock });
  await leave(await connect("desk", ["wipe"]), 0);
  await connect("archive", ["wipe"]);

  expect(await session()).toEqual({ services: ["archive"], missing: [] });
  expect(slept).toEqual([]);
});

test("a missing service with hooks is named as one", async () => {
  const { clock } = hastyClock();
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

test("only the services that were seen less than a minute ago are named", async () => {
  const { clock } = hastyClock();
  await start({ clock });
  await connect("desk", ["wipe"]);
  await leave(await connect("mail", ["send"]), 0);
  await leave(await connect("maps", ["find"]), 0);
  const sets = await server.store.functionSets("agent-a");
  const mail = sets.find(({ service }) => service === "mail")!.manifestHash;
  server.store.lastSeenAgoMs = (async (_: string, hashes: string[]) =>
    hashes.includes(mail) ? 5_000 : 60_000) as typeof server.store.lastSeenAgoMs;

  expect(await session()).toEqual({ services: ["desk"], missing: ["mail"] });
});

test("while the store is out of reach the connected services go on without the others", async () => {
  const { slept, clock } = hastyClock();
  await start({ clock });
  await connect("desk", ["wipe"]);
  await leave(await connect("mail", ["send"]), 0);
  server.store.lastSeenAgoMs = () => Promise.reject(new StoreUnavailable("out of reach"));

  expect(await session()).toEqual({ services: ["desk"], missing: [] });
  expect(slept).toEqual([]);
});
