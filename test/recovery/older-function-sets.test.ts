import { connect, defineFunction, defineService, everyone, silentLog, type Connection } from "@patchbay/functions";
import { afterEach, expect, test } from "vitest";
import { startChaosProxy, type ChaosProxy } from "@patchbay/test-support/chaos-proxy";
import { until } from "@patchbay/test-support/inbox";
import { REPLICAS, type Replicas } from "../support/replicas.ts";

/** Short pauses, so that a runtime reconnects soon after a cut or a restart. */
const BACKOFF = { firstMs: 10, baseMs: 50, recentMaxMs: 200, maxMs: 500 };

const started: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of started.splice(0).toReversed()) await one[Symbol.asyncDispose]();
});

function wipeService(version: string, roles: typeof everyone | string[], wiped: string[]) {
  const wipe = defineFunction({
    name: "wipe_data",
    description: "Wipes the data.",
    input: { type: "object" },
    roles,
    handler(_input, { role = "" }) {
      wiped.push(`${version} as ${role}`);
      return `wiped by ${version}`;
    },
  });
  return defineService({ name: "desk", roles: ["admin", "guest"], functions: [wipe] });
}

interface Runtime {
  readonly connection: Connection;
  readonly proxy: ChaosProxy;
}

/** An old set that is open to everyone and a newer one for admins, each behind its own proxy. */
async function openSets(replicas: Replicas, deployments: { old?: string; new?: string }) {
  const wiped: string[] = [];

  /** Connects the old set to the first replica, the new one to the last. */
  async function start(version: "old" | "new", { deployment }: { deployment?: string | undefined }): Promise<Runtime> {
    const plane = version === "old" ? replicas.planes[0]! : replicas.planes.at(-1)!;
    const proxy = await startChaosProxy(plane.port);
    const service = wipeService(version, version === "old" ? everyone : ["admin"], wiped);
    const connection = connect(service, {
      url: `http://127.0.0.1:${proxy.port}`,
      key: replicas.runtimeKey,
      log: silentLog,
      backoff: BACKOFF,
      ...(deployment !== undefined && { deployment }),
    });
    started.push(proxy, { [Symbol.asyncDispose]: () => connection.stop({ drainMs: 0 }) });
    await connection.ready;
    return { connection, proxy };
  }

  const old = await start("old", { deployment: deployments.old });
  const fresh = await start("new", { deployment: deployments.new });

  async function ask(role: string): Promise<string[]> {
    return Promise.all(
      replicas.clients.map(async (client) => {
        const { success, errorMessage, toolInteractions } = await client.query("Wipe the data", { role });
        const calls = toolInteractions.map((call) => (call.success ? JSON.stringify(call.result) : call.code));
        return success ? `calls: ${calls.join()}` : errorMessage;
      }),
    );
  }

  return {
    old,
    fresh,
    wiped,
    start,
    /** The number of runtimes connected to all replicas together. */
    async connected(count: number): Promise<void> {
      const has = () => replicas.planes.reduce((sum, plane) => sum + plane.connectedRuntimes(replicas.agentId), 0);
      await until(() => has() === count, `${count} runtimes are connected`);
    },
    /** The answers of each replica to a guest and an admin, once it knows the other's runtimes. */
    async expectAnswers(answers: { guest: string; admin: string }): Promise<void> {
      for (const role of ["guest", "admin"] as const)
        await expect.poll(() => ask(role)).toEqual(replicas.clients.map(() => answers[role]));
      expect(wiped.filter((call) => call.endsWith("guest"))).toEqual([]);
    },
  };
}

const REFUSED = { guest: "calls: ", admin: 'calls: "wiped by new"' };
const NO_SESSION = "Agent session not found";

for (const [where, open] of Object.entries(REPLICAS)) {
  const replicasOr = async (skip: () => void): Promise<Replicas> => {
    const replicas = await open({ arrivalMs: 300 });
    if (!replicas) return skip() as never;
    started.push(replicas);
    return replicas;
  };

  test(`on ${where}, a runtime with old rules that reconnects after a cut does not restore them`, async ({ skip }) => {
    const replicas = await replicasOr(skip);
    const sets = await openSets(replicas, {});
    await sets.expectAnswers(REFUSED);

    const before = sets.old.proxy.accepted;
    sets.old.proxy.cut();
    await until(() => sets.old.proxy.accepted > before, "the old runtime dials again");
    await sets.connected(2);

    await sets.expectAnswers(REFUSED);
    await replicas.restart();
    await sets.connected(2);
    await sets.expectAnswers(REFUSED);
  });

  test(`on ${where}, a process that restarts with its old deployment does not restore old rules`, async ({ skip }) => {
    const replicas = await replicasOr(skip);
    const sets = await openSets(replicas, { old: "v1", new: "v2" });

    await sets.old.connection.stop({ drainMs: 0 });
    await sets.start("old", { deployment: "v1" });

    await sets.connected(2);
    await sets.expectAnswers(REFUSED);
    await replicas.restart();
    await sets.connected(2);
    await sets.expectAnswers(REFUSED);
  });

  test(`on ${where}, no set is served while the newest one is disconnected and an older one allows more`, async ({
    skip,
  }) => {
    const replicas = await replicasOr(skip);
    const sets = await openSets(replicas, { old: "v1", new: "v2" });

    sets.fresh.proxy.refusing = true;
    sets.fresh.proxy.cut();
    await sets.connected(1);

    await sets.expectAnswers({ guest: NO_SESSION, admin: NO_SESSION });
    await replicas.restart();
    await sets.connected(1);
    await sets.expectAnswers({ guest: NO_SESSION, admin: NO_SESSION });
    sets.fresh.proxy.refusing = false;
    await sets.connected(2);
    await sets.expectAnswers(REFUSED);
  });
}
