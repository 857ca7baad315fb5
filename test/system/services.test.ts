import { connect, defineFunction, defineService, everyone, silentLog, type Service } from "@patchbay/functions";
import { scriptedModel } from "@patchbay/functions/testing";
import { CLOSE_CODES } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { until } from "@patchbay/test-support/inbox";
import { startSystem } from "@patchbay/test-support/system";

const answers = (name: string, value: string) =>
  defineFunction({
    name,
    description: `Does ${name}.`,
    input: z.object({}),
    roles: everyone,
    effect: "read",
    handler: async () => value,
  });

/** A service with customers, which limits the context that the model receives. */
const desk = defineService({
  name: "desk",
  context: z.object({ customerId: z.string() }),
  subject: ({ customerId }) => customerId,
  modelContext: ({ customerId }) => ({ customer: customerId }),
  instructions: "Be brief.",
  functions: [answers("find_order", "order 7")],
});

/** A service with accounts. */
const billing = defineService({
  name: "billing",
  context: z.object({ accountId: z.string() }),
  subject: ({ accountId }) => accountId,
  instructions: "Amounts are in euros.",
  functions: [answers("find_invoice", "invoice 9")],
});

/** Calls every declared function once, and then answers. */
const caller = () =>
  scriptedModel(({ functions, messages }) =>
    messages.at(-1)?.role === "user" ? { calls: functions.map(({ name }) => [name, {}] as const) } : "Done.",
  );

async function startServices(...services: Service[]) {
  const model = caller();
  const system = await startSystem({ model });
  for (const service of services) await system.connect(service);
  const ask = (context: object, body: object = {}) =>
    system.query("All of it", { contextJson: JSON.stringify(context), ...body });
  return { ...system, model, ask };
}

const both = { customerId: "c1", accountId: "a1" };

test("a query uses the functions of two services, with the instructions and the context under the name of each", async () => {
  await using system = await startServices(desk, billing);

  const { toolInteractions, warnings } = await system.ask(both);

  expect(toolInteractions).toMatchObject([
    { toolName: "find_invoice", success: true, result: "invoice 9" },
    { toolName: "find_order", success: true, result: "order 7" },
  ]);
  expect(warnings ?? []).toEqual([]);
  const { system: instructions, messages } = system.model.requests[0]!;
  expect(instructions).toContain("Service billing:\nAmounts are in euros.\n\nService desk:\nBe brief.");
  expect(JSON.stringify(messages[0])).toContain(
    JSON.stringify(JSON.stringify({ billing: both, desk: { customer: "c1" } })).slice(1, -1),
  );
});

test("a context that fits one of two services leaves the other one out, with a warning that names it", async () => {
  await using system = await startServices(desk, billing);

  const { toolInteractions, warnings } = await system.ask({ customerId: "c1" });

  expect(toolInteractions).toMatchObject([{ toolName: "find_order", success: true }]);
  expect(warnings).toEqual(["The context does not fit service billing: its functions are left out of this query."]);
});

test("a query waits for a service that just stopped, then continues without it, with a warning", async () => {
  await using system = await startSystem({ model: caller(), arrivalMs: 200, service: desk });
  const stopped = await system.connect(billing);
  await stopped.stop({ drainMs: 0 });

  const { toolInteractions, warnings } = await system.query("All of it", { contextJson: JSON.stringify(both) });

  expect(toolInteractions).toMatchObject([{ toolName: "find_order", success: true }]);
  expect(warnings).toEqual(["Service billing is not connected: its functions are left out of this query."]);
});

test("a context that fits no service is rejected, with the service before each path", async () => {
  await using system = await startServices(desk, billing);

  const response = await system.post(`/agents/${system.agentId}/query`, { query: "All of it", contextJson: "{}" });

  expect(response.status).toBe(400);
  const { details } = (await response.json()) as { details: { path: string }[] };
  expect(details.map(({ path }) => path)).toEqual(["billing.contextJson.accountId", "desk.contextJson.customerId"]);
});

test("earlier turns are sent only if the subject of every service is equal", async () => {
  await using system = await startServices(desk, billing);
  const { threadId } = await system.ask(both);
  const shown = async (context: object) => {
    await system.ask(context, { threadId });
    const first = system.model.requests.findLast(({ messages }) => messages.at(-1)?.role === "user");
    return first!.messages.filter(({ role }) => role === "user").length - 1;
  };

  expect(await shown({ ...both, accountId: "a2" })).toBe(0);
  expect(await shown({ customerId: "c1" })).toBe(0);
  expect(await shown(both)).toBe(1);
});

test("a runtime whose service has a function of another service is rejected, and retries until the name is free", async () => {
  await using system = await startServices();
  const first = await system.connect(desk);
  const clash = defineService({ name: "archive", functions: [answers("find_order", "order 7, archived")] });
  const errors: object[] = [];
  const log = { ...silentLog, error: (_: string, fields?: object) => void errors.push(fields ?? {}) };
  const { url, runtimeKey: key } = system;
  const second = connect(clash, { url, key, log, backoff: { firstMs: 10, baseMs: 20, recentMaxMs: 50, maxMs: 50 } });
  await using _stopped = { [Symbol.asyncDispose]: () => second.stop({ drainMs: 0 }) };
  await until(() => errors.length > 1, "a second refusal");
  expect(errors[0]).toMatchObject({
    code: CLOSE_CODES.serviceConflict,
    reason: "services desk and archive both have find_order",
  });

  await first.stop({ drainMs: 0 });

  await second.ready;
  expect((await system.ask({})).toolInteractions).toMatchObject([{ result: "order 7, archived" }]);
});

const wipe = (roles: typeof everyone | string[]) =>
  defineService({
    name: "desk",
    roles: ["admin", "guest"],
    functions: [
      defineFunction({
        name: "wipe_data",
        description: "Wipes the data.",
        input: z.object({}),
        roles,
        handler: async () => "wiped",
      }),
    ],
  });

const asGuest = { role: "guest" };

test("with accessChanges follow a set that widens access is active immediately, and its differences are in the audit log", async () => {
  await using system = await startServices(wipe(["admin"]));
  expect((await system.ask({}, asGuest)).toolInteractions).toEqual([]);

  await system.connect(wipe(everyone));

  expect((await system.ask({}, asGuest)).toolInteractions).toMatchObject([{ result: "wiped" }]);
  const { items } = await system.plane.store.audit.list({ action: "access.widened", limit: 9 });
  expect(items).toMatchObject([
    { agentId: system.agentId, detail: { service: "desk", confirmation: "none", count: 1 } },
  ]);
  expect(JSON.stringify(items[0]!.detail)).toContain("wipe_data");
});

test("with accessChanges confirm the earlier set is active until the set that widens access is confirmed", async () => {
  await using system = await startServices(wipe(["admin"]));
  const { admin, store } = system.plane;
  await admin.updateAgent(system.agentId, { accessChanges: "confirm" });
  await system.connect(wipe(everyone));

  expect((await system.ask({}, asGuest)).toolInteractions).toEqual([]);
  expect((await system.ask({}, { role: "admin" })).toolInteractions).toMatchObject([{ result: "wiped" }]);
  const waiting = (await store.runtimes.functionSets(system.agentId)).find((set) => set.confirmation === "pending")!;
  await admin.acceptAccess(system.agentId, waiting.manifestHash);

  await until(
    async () => (await system.ask({}, asGuest)).toolInteractions.length > 0,
    "the confirmed set serves, at most a second after its confirmation",
  );
});

test("with accessChanges confirm a confirmation does not apply to a later deployment", async () => {
  await using system = await startServices(wipe(["admin"]));
  const { admin, store } = system.plane;
  await admin.updateAgent(system.agentId, { accessChanges: "confirm" });
  await system.connect(wipe(everyone));
  const waiting = async () =>
    (await store.runtimes.functionSets(system.agentId)).filter((set) => set.confirmation === "pending");
  await admin.acceptAccess(system.agentId, (await waiting())[0]!.manifestHash);
  await system.connect(wipe(["admin"]));

  await system.connect(wipe(everyone));

  expect(await waiting()).toHaveLength(1);
  expect((await system.ask({}, asGuest)).toolInteractions).toEqual([]);
});
