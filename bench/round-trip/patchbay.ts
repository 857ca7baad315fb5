import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { launch } from "../process.ts";
import { argument, drive, report } from "./drive.ts";

// The built function gateway, without runs and stored calls, and `patchbay connect` as its runtime.
const [command, service, parts] = [0, 1, 2].map(argument);
const { createAdmin, createFunctionGateway, createLog, createMemoryBus, openStore } = (await import(
  parts!
)) as typeof import("./parts.ts");

const store = await openStore("sqlite::memory:");
const { agentId } = await createAdmin({ store }).createAgent("Orders");
const { signal } = new AbortController();
const gateway = createFunctionGateway({
  store: store.runtimes,
  calls: store.calls,
  shadows: store.shadows,
  bus: createMemoryBus(),
  authenticate: async () => ({ keyId: "key", credentialId: "key", agentId, orgId: "org" }),
  validCredentials: async (ids) => new Set(ids),
  within: (_orgId, work) => work(),
  replicaId: randomUUID(),
  limits: DEFAULT_LIMITS,
  clock: { now: Date.now, sleep: (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)) },
  log: createLog({ level: "error" }),
});

const server = createServer().on("upgrade", gateway.handleUpgrade);
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;
const args = ["connect", service!, "--url", `http://127.0.0.1:${port}`, "--agent", agentId, "--json"];
const functions = launch(command!, args, { env: { PATCHBAY_RUNTIME_KEY: "key" } });
await functions.whenReady;
const session = await gateway.session(agentId, { signal });
const instanceId = (await gateway.assign(agentId, session!.manifestHash, "echo", { signal }))!;

async function echo(text: string): Promise<void> {
  const callId = randomUUID();
  const order = {
    callId,
    attempt: 1,
    instanceId,
    agentId,
    functionName: "echo",
    arguments: { text },
    role: "manager",
    context: {},
    threadId: "thr_1",
    runId: "run_1",
    fence: 1,
    timeoutMs: 60_000,
  };
  const delivery = await gateway.deliver(order, { signal });
  if (delivery.kind !== "outcome" || !delivery.outcome.ok)
    throw new Error(`a call failed: ${JSON.stringify(delivery).slice(0, 300)}`);
  gateway.acknowledge(order);
}

report(await drive(echo, functions.pid));
await functions[Symbol.asyncDispose]();
process.exit(0);
