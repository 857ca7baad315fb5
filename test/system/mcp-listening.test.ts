import { connect, defineFunction, defineService, silentLog } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { mcpClient } from "@patchbay/test-support/mcp-client";
import { until } from "@patchbay/test-support/inbox";
import { startDesk } from "../support/mcp-desk.ts";
import { REPLICAS } from "../support/replicas.ts";

/** Lists are compared without a report 30 s after a client has begun to listen. */
const UNREPORTED_MS = 30_000;

const more = (roles: [string, ...string[]] | "everyone", name = "extra") =>
  defineService({
    name: "more",
    functions: [defineFunction({ name, description: "One more.", input: z.object({}), roles, handler: () => null })],
  });

/** Clients that listen, and the names of those whose list has changed. */
function createListeners(target: Parameters<typeof mcpClient>[0]) {
  const changes: string[] = [];
  let listensSince = Infinity;
  return {
    changes,
    /** Resolves once there are this many changes, all of them reported. */
    async reported(count: number) {
      await until(() => changes.length >= count, `${count} changes`);
      expect(performance.now() - listensSince).toBeLessThan(UNREPORTED_MS);
    },
    /** A client that listens once it has its list. */
    async listen(role: string, expose?: string) {
      const name = expose ?? role;
      listensSince = Math.min(listensSince, performance.now());
      const onChanged = () => void changes.push(name);
      const client = await mcpClient(target, {
        headers: { "x-patchbay-role": role },
        ...(expose !== undefined && { expose }),
        client: { listChanged: { tools: { autoRefresh: false, onChanged } } },
      });
      await client.listTools();
      return client;
    },
  };
}

test("a listening client learns at once of a change of its own list only", async () => {
  await using system = await startDesk();
  const { changes, reported, listen } = createListeners(system);
  await using _clerk = await listen("clerk");
  await using _guest = await listen("guest");
  await using _manager = await listen("manager");

  const connection = await system.connect(more(["manager"]));
  await reported(1);
  await system.connect(more("everyone", "shared"));
  await reported(4);

  expect(changes).toEqual(["manager", ...changes.slice(1)]);
  expect(changes.slice(1).toSorted()).toEqual(["clerk", "guest", "manager"]);
  await connection.stop({ drainMs: 0 });
});

test("a client learns at once that a function set was confirmed, or the agent renamed", async () => {
  await using system = await startDesk();
  const { admin, store } = system.plane;
  await system.connect(more(["manager"]));
  await admin.updateAgent(system.agentId, { accessChanges: "confirm" });
  const { changes, reported, listen } = createListeners(system);
  await using _clerk = await listen("clerk");
  await using _agent = await listen("clerk", "agent");
  await system.connect(more(["manager", "clerk"]));
  // The replica has read that the set waits, and keeps that for a second.
  await using other = await mcpClient(system, { headers: { "x-patchbay-role": "clerk" } });
  await other.listTools();
  const waiting = (await store.runtimes.functionSets(system.agentId)).find((set) => set.confirmation === "pending")!;

  await admin.acceptAccess(system.agentId, waiting.manifestHash);
  await reported(1);
  await admin.updateAgent(system.agentId, { name: "Front desk" });
  await reported(2);

  expect(changes).toEqual(["clerk", "agent"]);
});

test("a client learns at once of a runtime that connects to another replica", async ({ skip }) => {
  await using replicas = await REPLICAS["two replicas on Postgres and NATS"]({});
  if (!replicas) return skip("this machine has no NATS server");
  const [here, there] = replicas.planes;
  const { agentId, runtimeKey: key } = replicas;
  const { apiKey } = await here!.admin.createKey({ agentId });
  const attach = (functions: ReturnType<typeof more>) =>
    connect(functions, { url: there!.url, agentId, key, log: silentLog });
  const first = attach(more(["manager"]));
  await first.ready;
  const { changes, reported, listen } = createListeners({ url: here!.url, agentId, apiKey });
  await using _clerk = await listen("clerk");
  await using _manager = await listen("manager");

  const second = attach(more(["manager"], "another"));
  await second.ready;
  await reported(1);

  expect(changes).toEqual(["manager"]);
  await Promise.all([first.stop({ drainMs: 0 }), second.stop({ drainMs: 0 })]);
});
