import { randomUUID, sleep } from "@patchbay/kit/time";
import { silentLog, type Connection } from "@patchbay/functions";
import type { CallOutcome } from "@patchbay/protocol";
import { addAgents, type GatewayServer } from "@patchbay/test-support/gateway-server";
import { gated, fakeService, type Answer, type FakeService } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import type { FunctionGatewayOptions } from "../src/gateway.ts";
import type { CallOrder, DeliveryOptions } from "@patchbay/engine/ports/function-gateway";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import type { CallRecord } from "@patchbay/engine/ports/records";
import { openStore } from "@patchbay/store/open";
import { createBusHub } from "./bus-hub.ts";
import { type Links, type Proxied, type Server, sockets } from "./links.ts";
import { TIMES } from "./times.ts";

type Hook = () => void | Promise<void>;

export interface Replica {
  readonly name: string;
  readonly server: Server;
  readonly gateway: GatewayServer["gateway"];
  /** While true, every use of the store by this replica rejects. */
  storeDown: boolean;
  /** Calls the hook once, around this replica's next use of the store's method. */
  before(method: string, hook: Hook): void;
  after(method: string, hook: Hook): void;
  /** Stops it as kill -9 does: without a message to the store, the bus or its runtimes. */
  kill(): void;
}

/** A run of a test, with the fence of its current owner. */
export interface TestRun {
  readonly runId: string;
  readonly threadId: string;
  owner: string;
  fence: number;
}

/** A runtime behind a proxy that can direct it to another replica. */
export interface TestRuntime {
  readonly service: FakeService;
  readonly connection: Connection;
  readonly instanceId: string;
  readonly proxy: Proxied;
  /** Cuts its connection and directs it to another replica. */
  move(to: Replica): void;
  /** Makes it open a connection to another replica in addition to the current one. */
  replace(to: Replica): void;
  /** Resolves when it is connected to the replica. */
  at(replica: Replica): Promise<void>;
  die(): void;
}

export interface RuntimeChange {
  answer?: Answer;
  concurrency?: number;
  functions?: string[];
}

export type Ending = CallOutcome | "unknown" | "not taken";

/** The delivery of a call that echoes its arguments. */
export const echoed = { kind: "outcome", outcome: { ok: true, value: { text: "hello" } } };

const UNKNOWN: CallOutcome = { ok: false, code: "outcome_unknown", message: "unknown" };
const never = new AbortController().signal;

/** Replicas and runtimes, by default with sockets. */
export async function startCluster(
  names: string[],
  { links = sockets, ...options }: Partial<FunctionGatewayOptions> & { links?: Links } = {},
) {
  const store = await openStore("sqlite::memory:");
  await addAgents(store);
  const hub = createBusHub();
  const runtimes: TestRuntime[] = [];
  const replicas = await Promise.all(names.map(startReplica));
  let hash = "";
  let closed = false;

  async function startReplica(name: string): Promise<Replica> {
    const hooks = new Map<string, Hook>();
    const state = { storeDown: false };
    let dead = false;
    const guard = <Part extends object>(part: Part): Part =>
      new Proxy(part, {
        get(target, method: string) {
          const call = target[method as keyof Part] as (...input: unknown[]) => Promise<unknown>;
          return async (...input: unknown[]) => {
            const refuse = (): void => {
              if (state.storeDown || dead) throw new StoreUnavailable("store is down");
            };
            refuse();
            await run(`before ${method}`);
            refuse();
            const answer = await call.apply(target, input);
            await run(`after ${method}`);
            refuse();
            return answer;
          };
        },
      });
    async function run(name: string): Promise<void> {
      const hook = hooks.get(name);
      hooks.delete(name);
      await hook?.();
    }
    const server = await links.startGateway({
      store: guard(store.runtimes),
      calls: guard(store.calls),
      bus: hub.join(name),
      replicaId: name,
      ...TIMES,
      ...options,
    });
    return Object.assign(state, {
      name,
      server,
      gateway: server.gateway,
      before: (method: string, hook: Hook) => void hooks.set(`before ${method}`, hook),
      after: (method: string, hook: Hook) => void hooks.set(`after ${method}`, hook),
      kill() {
        dead = true;
        hub.set(name, "dead");
        server.cut();
        void server.gateway.close();
      },
    });
  }

  async function connectRuntime(replica: Replica, change: RuntimeChange = {}): Promise<TestRuntime> {
    const { concurrency, ...how } = change;
    const service = fakeService(how);
    const proxy = await links.startProxy(replica.server.port);
    const connection = links.connect(proxy, service, {
      key: "key-of-a",
      log: silentLog,
      backoff: { firstMs: 10, baseMs: 10, maxMs: 40 },
      ...(concurrency !== undefined && { concurrency }),
    });
    const { instanceId } = connection;
    const runtime: TestRuntime = {
      service,
      connection,
      instanceId,
      proxy,
      move(to) {
        proxy.retarget(to.server.port);
        proxy.cut();
      },
      replace(to) {
        proxy.retarget(to.server.port);
        connection.update(service);
      },
      at: ({ name }) =>
        until(async () => {
          const connections = await store.runtimes.connections("agent-a");
          return connections.some((one) => one.instanceId === instanceId && one.replicaId === name);
        }, `the runtime at ${name}`),
      die() {
        proxy.refusing = true;
        proxy.cut();
      },
    };
    runtimes.push(runtime);
    await connection.ready;
    await runtime.at(replica);
    hash ||= (await replica.gateway.session("agent-a", { signal: never }))!.manifestHash;
    return runtime;
  }

  async function startRun(owner: Replica): Promise<TestRun> {
    const runId = `run-${randomUUID()}`;
    const run = { runId, threadId: `thread-${runId}`, owner: owner.name };
    const request = { query: "q", context: { a: 1 }, analysisMode: false, provider: "p", model: "m", maxTokens: 1 };
    const started = await store.runs.start({
      ...run,
      orgId: "org",
      agentId: "agent-a",
      keyId: "key",
      newThread: true,
      kind: "query",
      request: { ...request, system: "", charged: false, warnings: [] },
      timeoutMs: 600_000,
      leaseMs: 600_000,
      audit: [],
    });
    if (started.kind !== "started") throw new Error("the run was not started");
    return { ...run, fence: started.run.fence };
  }

  /** Gives the run to another replica, as after the end of the first one's lease. */
  async function takeOver(run: TestRun, owner: Replica): Promise<void> {
    await store.runs.release(run.owner, [run.runId]);
    const [claimed] = await store.runs.claim({ owner: owner.name, leaseMs: 600_000, limit: 1, runId: run.runId });
    run.owner = owner.name;
    run.fence = claimed!.fence;
  }

  /** Starts a run at x, the first replica, and connects a runtime to y, the second, or to the one with this index. */
  async function place(change: RuntimeChange = {}, at = 1) {
    const [x, y, z] = replicas as [Replica, Replica, Replica];
    const desk = await connectRuntime(replicas[at]!, change);
    const run = await startRun(x);
    const deliver = async (options: Partial<DeliveryOptions> = {}, order: Partial<CallOrder> = {}) =>
      x.gateway.deliver(await intend(run, desk.instanceId, order), { signal: never, ...options });
    return { x, y, z, desk, run, deliver };
  }

  /** As `place`, with a call that runs until the gate is opened. */
  async function placeRunning(at = 1) {
    const gate = gated();
    const placed = await place({ answer: gate.answer }, at);
    const delivery = placed.deliver();
    await until(() => gate.started(1), "the call");
    return { ...placed, gate, delivery };
  }

  let position = 0;
  function newCall(instanceId: string): CallRecord {
    const callId = `call-${randomUUID()}`;
    const what = { functionName: "echo", arguments: { text: "hello" } };
    return { callId, step: 1, position: ++position, modelCallId: callId, ...what, attempt: 1, instanceId };
  }

  const commit = (run: TestRun, call: CallRecord) => store.runs.commit(run, { calls: [call] });

  function orderOf(run: TestRun, call: CallRecord, change: Partial<CallOrder> = {}): CallOrder {
    const { callId, attempt, instanceId, functionName } = call;
    const { runId, threadId, fence } = run;
    const what = { callId, attempt, instanceId: instanceId!, functionName, arguments: call.arguments };
    return { ...what, agentId: "agent-a", context: { a: 1 }, runId, threadId, fence, timeoutMs: 20_000, ...change };
  }

  /** Stores the intent to call that runtime and returns the order. */
  async function intend(run: TestRun, instanceId: string, change: Partial<CallOrder> = {}): Promise<CallOrder> {
    const call = newCall(instanceId);
    await commit(run, call);
    return orderOf(run, call, change);
  }

  /** Completes one call as a run does: stores each attempt before it is sent, and makes another when one was undelivered. */
  async function callToEnd(
    replica: Replica,
    run: TestRun,
    options: Partial<DeliveryOptions> = {},
  ): Promise<{ callId: string; ending: Ending; attempts: number }> {
    const call = newCall("");
    for (; call.attempt <= 40; call.attempt++) {
      const instanceId = await replica.gateway.assign("agent-a", hash, "echo", { signal: never });
      if (instanceId === undefined) continue;
      call.instanceId = instanceId;
      await commit(run, call);
      const delivery = await replica.gateway.deliver(orderOf(run, call), { signal: never, ...options });
      if (delivery.kind === "undelivered") {
        await sleep(Math.min(200, 10 * call.attempt));
        continue;
      }
      const ending = delivery.kind === "outcome" ? delivery.outcome : "unknown";
      await commit(run, { ...call, outcome: ending === "unknown" ? UNKNOWN : ending });
      replica.gateway.acknowledge({ agentId: "agent-a", callId: call.callId, instanceId, attempt: call.attempt });
      return { callId: call.callId, ending, attempts: call.attempt };
    }
    return { callId: call.callId, ending: "not taken", attempts: call.attempt };
  }

  return {
    store,
    hub,
    replicas,
    get hash() {
      return hash;
    },
    connectRuntime,
    place,
    placeRunning,
    startRun,
    takeOver,
    intend,
    callToEnd,
    async [Symbol.asyncDispose]() {
      if (closed) return;
      closed = true;
      await Promise.all(runtimes.map(({ connection }) => connection.stop({ drainMs: 0 })));
      await Promise.all(runtimes.map(({ proxy }) => proxy[Symbol.asyncDispose]()));
      await Promise.all(replicas.map(({ server }) => server[Symbol.asyncDispose]()));
      await store.close();
    },
  };
}

export type Cluster = Awaited<ReturnType<typeof startCluster>>;

/** How often each call was executed, over all runtimes. */
export function timesRun(runtimes: readonly TestRuntime[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { service } of runtimes)
    for (const { callId } of service.invoked) counts.set(callId, (counts.get(callId) ?? 0) + 1);
  return counts;
}
