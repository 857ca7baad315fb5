import { CLOSE_CODES, FRAMES_VERSION, type FunctionManifest, type Manifest } from "@patchbay/protocol";
import { afterEach, expect, test } from "vitest";
import { silentMetrics } from "@patchbay/engine/ports/metrics";
import { startGateway, type GatewayServer } from "@patchbay/test-support/gateway-server";
import { joinGateway, type FakeRuntime } from "@patchbay/test-support/fake-runtime";
import { fakeManifest } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { recordingLog } from "./bus/recording-log.ts";
import { refusedHello } from "./hand-calls.ts";

let server: GatewayServer;
const signal = new AbortController().signal;

afterEach(() => server[Symbol.asyncDispose]());

interface Offer {
  service?: string;
  deployment?: string;
  functions?: string[];
  /** Changes to every function. */
  change?: Partial<FunctionManifest>;
  defaultRole?: string;
}

function hello(instanceId: string, { service = "desk", deployment, functions = ["wipe"], ...rest }: Offer = {}) {
  const hand = fakeManifest(functions);
  const manifest: Manifest = {
    ...hand,
    name: service,
    functions: hand.functions.map((one) => ({ ...one, ...rest.change })),
    ...(rest.defaultRole !== undefined && { defaultRole: rest.defaultRole }),
  };
  const named = deployment === undefined ? {} : { deployment };
  return { type: "hello", version: FRAMES_VERSION, instanceId, manifest, concurrency: 4, sdk: "hand", ...named };
}

const everyone = { change: { roles: "everyone" } } satisfies Offer;
const admins = { change: { roles: ["admin"] } } satisfies Offer;

const connect = (instanceId: string, offer: Offer = {}) => joinGateway(server.port, hello(instanceId, offer));

const session = () => server.gateway.session("agent-a", { signal });

/** The role lists of the functions of a new run. */
const rolesNow = async () => (await session())?.manifest.functions.map(({ roles }) => roles);

const assign = (manifestHash: string, functionName = "wipe") =>
  server.gateway.assign("agent-a", manifestHash, functionName, { signal });

/** Resolves when the gateway has noticed the close. */
async function leave({ socket }: FakeRuntime): Promise<void> {
  const count = server.gateway.connectionCount();
  socket.terminate();
  await until(() => server.gateway.connectionCount() === count - 1, "the connection is gone");
}

const refused = (instanceId: string, offer: Offer) => refusedHello(server.port, hello(instanceId, offer));

test("a runtime with an older set that reconnects does not restore its role lists", async () => {
  server = await startGateway();
  const old = await connect("old", everyone);
  await connect("new", admins);
  expect(await rolesNow()).toEqual([["admin"]]);

  await leave(old);
  await connect("old", everyone);

  expect(await rolesNow()).toEqual([["admin"]]);
});

test("a restarted process of an older deployment remains old", async () => {
  server = await startGateway();
  const old = await connect("old", { deployment: "v1", ...everyone });
  await connect("new", { deployment: "v2", ...admins });

  await leave(old);
  await connect("old, restarted", { deployment: "v1", ...everyone });

  expect(await rolesNow()).toEqual([["admin"]]);
});

test("a new process without a deployment counts as new, and its widenings are logged and counted", async () => {
  const log = recordingLog();
  let widened = 0;
  const metrics = { ...silentMetrics, accessWidened: () => void widened++ };
  server = await startGateway({ log, metrics });
  await connect("old", everyone);
  await connect("new", admins);

  await connect("old, restarted", everyone);

  expect(await rolesNow()).toEqual(["everyone"]);
  expect(widened).toBe(1);
  expect(log.lines.filter((line) => line.startsWith("warn"))).toEqual([
    expect.stringMatching(
      /^warn a function set widens access \{"widenings":\["[^"]*gained [^"]*"\],"count":1,.*"deployment":"old, restarted"/,
    ),
  ]);
});

test("while no runtime of the newest set is connected, an older one that widens nothing serves", async () => {
  server = await startGateway();
  await connect("old", admins);
  const newest = await connect("new", everyone);
  expect(await rolesNow()).toEqual(["everyone"]);

  await leave(newest);

  expect(await rolesNow()).toEqual([["admin"]]);
  const { services } = await server.gateway.serving("agent-a");
  expect(services).toMatchObject([{ service: "desk", serves: true, deployment: "old", isFallback: true }]);
});

test("while no runtime of the newest set is connected, an older one that allows more is withheld, with a reason", async () => {
  const log = recordingLog();
  server = await startGateway({ arrivalMs: 20, log });
  server.store.agoMs = 0;
  await connect("old", { deployment: "v1", ...everyone });
  const newest = await connect("new", { deployment: "v2", ...admins });

  await leave(newest);

  expect(await session()).toBeUndefined();
  expect(await session()).toBeUndefined();
  const reason = expect.stringMatching(/^no runtime of deployment v2 of desk is connected, and deployment v1 of desk /);
  expect(await server.gateway.serving("agent-a")).toEqual({ services: [{ service: "desk", serves: false, reason }] });
  const withheld = log.lines.filter((line) => /^warn .* withheld .*no runtime of deployment v2/.test(line));
  expect(withheld).toHaveLength(1);
});

test("an older set does not serve when its default role would open functions of another service", async () => {
  server = await startGateway();
  await connect("shop", { service: "shop", functions: ["refund"], ...admins });
  await connect("old", { deployment: "v1", defaultRole: "admin", ...everyone });
  await leave(await connect("new", { deployment: "v2", ...everyone }));

  expect((await session())?.services.map(({ service }) => service)).toEqual(["shop"]);
});

test("two runtimes with the same set both serve", async () => {
  server = await startGateway();
  await connect("one", admins);
  await connect("two", admins);
  const { manifestHash } = (await session())!;

  expect(new Set([await assign(manifestHash), await assign(manifestHash)])).toEqual(new Set(["one", "two"]));
});

test("the calls of a run go to runtimes with its own set", async () => {
  server = await startGateway();
  await connect("old", everyone);
  const { manifestHash } = (await session())!;
  await connect("new", admins);

  expect(await assign(manifestHash)).toBe("old");
});

test("when no runtime has its own set, a call goes to one whose set allows no more", async () => {
  server = await startGateway();
  const first = await connect("first", { change: { conditional: true } });
  const { manifestHash } = (await session())!;
  await connect("second", { functions: ["wipe", "read"], change: { conditional: true } });

  await leave(first);

  expect(await assign(manifestHash)).toBe("second");
  expect(await assign(manifestHash, "read")).toBeUndefined();
});

test("when no runtime has its own set, a call never goes to one whose set allows more", async () => {
  server = await startGateway();
  await connect("old", { change: { conditional: false } });
  const newest = await connect("new", { change: { conditional: true } });
  const { manifestHash } = (await session())!;

  await leave(newest);

  expect(await assign(manifestHash)).toBeUndefined();
});

test("the functions of several services are combined, and each call goes to its own service", async () => {
  server = await startGateway();
  await connect("desk-1", { service: "desk", functions: ["wipe"] });
  await connect("mail-1", { service: "mail", functions: ["send", "read"] });

  const combined = (await session())!;

  expect(combined.manifest.functions.map(({ name, origin }) => [name, origin?.service])).toEqual([
    ["wipe", "desk"],
    ["send", "mail"],
    ["read", "mail"],
  ]);
  expect(combined.services.map(({ service }) => service)).toEqual(["desk", "mail"]);
  expect(await assign(combined.manifestHash, "wipe")).toBe("desk-1");
  expect(await assign(combined.manifestHash, "send")).toBe("mail-1");
  expect(await server.store.getManifest("agent-a", combined.manifestHash)).toEqual(combined.manifest);
  expect((await session())!.manifestHash).toBe(combined.manifestHash);
});

test("a single service is served with its own set", async () => {
  server = await startGateway();
  await connect("one");

  const { manifest, manifestHash, services } = (await session())!;

  expect(services).toEqual([{ service: "desk", manifest, manifestHash }]);
  expect(await server.store.connections("agent-a")).toMatchObject([{ manifestHash }]);
});

test("a service with a function of another connected service is refused, and accepted once the name is free", async () => {
  const log = recordingLog();
  server = await startGateway({ log });
  const desk = await connect("desk-1", { service: "desk", functions: ["wipe", "read"] });

  const { code, reason } = await refused("mail-1", { service: "mail", functions: ["send", "read"] });

  expect(code).toBe(CLOSE_CODES.serviceConflict);
  expect(reason).toBe("services desk and mail both have read");
  expect(log.lines.find((line) => line.startsWith("error refused a runtime"))).toContain(reason);
  expect((await server.store.functionSets("agent-a")).map(({ service }) => service)).toEqual(["desk"]);
  // The name moves in a rollout: the newer set of the first service no longer has it.
  await connect("desk-2", { service: "desk", functions: ["wipe"] });
  await connect("mail-1", { service: "mail", functions: ["send", "read"] });
  expect((await session())!.manifest.functions.map(({ name }) => name)).toEqual(["wipe", "send", "read"]);
  // A runtime with the older set may connect again, for the runs that began with it.
  await leave(desk);
  await connect("desk-1", { service: "desk", functions: ["wipe", "read"] });
  expect((await session())!.services.map(({ service }) => service)).toEqual(["desk", "mail"]);
});

test("services with different default roles conflict, and one without a default role conflicts with none", async () => {
  server = await startGateway();
  await connect("desk-1", { service: "desk", functions: ["wipe"], defaultRole: "guest" });
  await connect("mail-1", { service: "mail", functions: ["send"] });

  const { code, reason } = await refused("shop-1", { service: "shop", functions: ["buy"], defaultRole: "clerk" });

  expect(code).toBe(CLOSE_CODES.serviceConflict);
  expect(reason).toBe("services desk and shop differ in defaultRole: guest and clerk");
  expect((await session())!.manifest.defaultRole).toBe("guest");
});

const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}_${index}`);

test.each([
  [
    "functions",
    { functions: numbered("desk", 150) },
    { functions: numbered("mail", 51) },
    "51 functions of service mail and 150 of the others exceed the limit of 200. Use another agent.",
  ],
  [
    "roles",
    { functions: ["wipe"], change: { roles: ["a", "b"] } },
    { functions: ["send"], change: { roles: ["b", "c", "d"] } },
    "3 roles of service mail and 2 of the others exceed rolesPerService (3). Use another agent.",
  ],
  [
    "bytes",
    { functions: ["wipe"], change: { description: "x".repeat(20_000) } },
    { functions: ["send"], change: { description: "x".repeat(20_000) } },
    /^20\d{3} bytes of service mail and 20\d{3} of the others exceed manifestBytes \(40000\)\. Use another agent\.$/,
  ],
] as const)(
  "the services of one agent together have no more %s than a function set",
  async (_, first, second, expected) => {
    server = await startGateway({ limits: { rolesPerService: 3, manifestBytes: 40_000 } });
    const change = { roles: "everyone" as const };
    const offer = (service: string, more: Pick<Offer, "functions" | "change">): Offer => ({
      service,
      ...more,
      change: { ...change, ...more.change },
    });
    const desk = offer("desk", first as Offer);
    const connected = await connect("desk-1", desk);

    const { code, reason } = await refused("mail-1", offer("mail", second as Offer));

    expect(code).toBe(CLOSE_CODES.serviceConflict);
    expect(reason).toMatch(expected);
    expect((await session())!.services.map(({ service }) => service)).toEqual(["desk"]);
    // The current deployment of a service does not count against its next one.
    await leave(await connect("desk-2", desk));
    await leave(connected);
    await connect("mail-1", offer("mail", second as Offer));
  },
);

test("a fallback set does not serve when a newer service has one of its functions", async () => {
  server = await startGateway();
  await connect("desk-1", { service: "desk", functions: ["wipe"], change: { roles: [] } });
  const desk = await connect("desk-2", { service: "desk", functions: ["read"], change: { roles: [] } });
  await connect("mail-1", { service: "mail", functions: ["wipe"], change: { roles: [] } });

  await leave(desk);

  expect((await session())!.services.map(({ service }) => service)).toEqual(["mail"]);
  const reason = "services mail and desk both have wipe";
  expect((await server.gateway.serving("agent-a")).services).toContainEqual({ service: "desk", serves: false, reason });
});
