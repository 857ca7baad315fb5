import type { Manifest, PreparedContext } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { FunctionSession, ServiceSet } from "../../src/ports/function-gateway.ts";
import { prepareServices } from "../../src/run/start/prepare.ts";
import { manifestOf } from "./fake-gateway.ts";

const signal = new AbortController().signal;
const context = { customerId: "c1", token: "t1" };

interface Played {
  /** The context as the service prepares it; undefined when no runtime answers. */
  prepared?: PreparedContext | undefined;
  manifest?: Partial<Manifest>;
}

const READS: Partial<Manifest> = { preparesContext: true, checksContext: true };

/** Prepares a query for fake services, by name. */
async function prepare(services: Record<string, Played>, missing: FunctionSession["missing"] = []) {
  const sets = Object.entries(services).map(([service, { manifest = READS }]): ServiceSet => ({
    service,
    manifestHash: `hash of ${service}`,
    manifest: manifestOf({ [`call_${service}`]: "everyone" }, { name: service, ...manifest }),
  }));
  const all = { manifest: manifestOf({}), manifestHash: "hash of all" };
  const session: FunctionSession = { ...all, services: sets, missing };
  const gateway = {
    prepare: async (_agentId: string, hash: string) => services[hash.replace("hash of ", "")]?.prepared,
    combine: async (_agentId: string, some: readonly ServiceSet[]) => ({
      manifest: manifestOf({}),
      manifestHash: some.map(({ service }) => service).join("+"),
    }),
  };
  return prepareServices("agt_1", session, { context }, gateway, { signal });
}

const faults = { ok: false as const, faults: [{ path: "contextJson.accountId", message: "is missing" }] };

test("a single service keeps its function set and its modelContext", async () => {
  expect(await prepare({ desk: { prepared: { ok: true, subject: "c1", modelContext: { plan: "gold" } } } })).toEqual({
    set: expect.objectContaining({ manifestHash: "hash of all" }) as unknown,
    modelContext: { plan: "gold" },
    subject: '[["desk","c1"]]',
    silentHooks: [],
    warnings: [],
  });
});

test("faults of a single service keep their paths", async () => {
  expect(await prepare({ desk: { prepared: faults } })).toEqual({ faults: faults.faults });
});

test("the modelContext of several services is by name, without services that do not read the context", async () => {
  const prepared = await prepare({
    desk: { prepared: { ok: true, modelContext: { customerId: "c1" } } },
    mail: { prepared: { ok: true } },
    maps: { manifest: { preparesContext: false } },
  });

  expect(prepared).toMatchObject({ modelContext: { desk: { customerId: "c1" }, mail: context } });
  expect(prepared).not.toHaveProperty("modelContext.maps");
});

test("the model sees the context once when no service reads it", async () => {
  const plain = { manifest: { preparesContext: false } };

  expect(await prepare({ desk: plain, mail: plain })).toMatchObject({ modelContext: context, warnings: [] });
});

test("a context that meets one of two schemas leaves the other service out, with a warning", async () => {
  const prepared = await prepare({ desk: { prepared: { ok: true } }, mail: { prepared: faults } });

  expect(prepared).toMatchObject({
    set: { manifestHash: "desk" },
    warnings: ["The context does not fit service mail: its functions are left out of this query."],
  });
});

test("a context that meets no schema has faults with the service in each path", async () => {
  const prepared = await prepare({
    desk: { prepared: faults },
    mail: { prepared: faults },
    // It declares no schema, so that it does not make the context valid.
    maps: { prepared: { ok: true }, manifest: { preparesContext: true, checksContext: false } },
  });

  expect(prepared).toEqual({
    faults: ["desk", "mail"].map((service) => ({ path: `${service}.contextJson.accountId`, message: "is missing" })),
  });
});

test("subjects are equal only when the subjects of all services are equal", async () => {
  const subjectFor = async (desk: string, mail: string) => {
    const of = (subject: string): Played => ({ prepared: { ok: true, subject } });
    const prepared = await prepare({ desk: of(desk), mail: of(mail) });
    return prepared && "subject" in prepared ? prepared.subject : undefined;
  };
  const first = await subjectFor("c1", "m1");

  expect(await subjectFor("c1", "m1")).toBe(first);
  for (const [desk, mail] of [
    ["c1", "m2"],
    ["c2", "m1"],
    ["m1", "c1"],
  ] as const)
    expect(await subjectFor(desk, mail)).not.toBe(first);
});

test("a service without a subject does not change the subject, whether it is connected or not", async () => {
  const desk: Played = { prepared: { ok: true, subject: "c1" } };
  const mail: Played = { prepared: { ok: true } };

  for (const services of [{ desk }, { desk, mail }, { desk, maps: { manifest: { preparesContext: false } } }])
    expect(await prepare(services)).toMatchObject({ subject: '[["desk","c1"]]' });
});

test("equal subjects of two services are different subjects", async () => {
  const one: Played = { prepared: { ok: true, subject: "c1" } };

  expect(await prepare({ mail: one })).toMatchObject({ subject: '[["mail","c1"]]' });
});

test("services without a subject have no subject together", async () => {
  const prepared = await prepare({ desk: { prepared: { ok: true } }, mail: { prepared: { ok: true } } });

  expect(prepared).not.toHaveProperty("subject");
});

test("a service that does not answer is left out with a warning, and without any answer there is no session", async () => {
  expect(await prepare({ desk: { prepared: { ok: true } }, mail: { prepared: undefined } })).toMatchObject({
    set: { manifestHash: "desk" },
    warnings: ["Service mail did not answer: its functions are left out of this query."],
  });
  expect(await prepare({ desk: { prepared: undefined }, mail: { prepared: undefined } })).toBeUndefined();
});

test("a service with hooks is not left out when the context does not fit it", async () => {
  const guard = { manifest: { ...READS, beforeAnswer: true }, prepared: faults };

  expect(await prepare({ desk: { prepared: { ok: true } }, guard })).toEqual({
    faults: [{ path: "guard.contextJson.accountId", message: "is missing" }],
  });
});

test("services whose hooks cannot be asked are listed", async () => {
  const guard = { manifest: { ...READS, beforeQuery: true }, prepared: undefined };
  const missing = [
    { service: "mail", hasHooks: false },
    { service: "words", hasHooks: true },
  ];

  const prepared = await prepare({ desk: { prepared: { ok: true } }, maps: { prepared: undefined }, guard }, missing);

  expect(prepared).toMatchObject({ silentHooks: ["words", "guard"] });
});
