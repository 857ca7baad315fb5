import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { startControlPlane, type StartedControlPlane } from "@patchbay/control-plane/admin";
import type { ControlPlaneOptions } from "@patchbay/control-plane";
import { silentLog } from "@patchbay/functions";
import { vi } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { freePort } from "@patchbay/test-support/free-port";
import { testNats } from "@patchbay/test-support/nats";
import { testDatabase } from "@patchbay/test-support/postgres";
import { client } from "@patchbay/test-support/system";

/** Control planes on one database, with an agent and its keys. */
export interface Replicas extends AsyncDisposable {
  readonly planes: readonly StartedControlPlane[];
  readonly agentId: string;
  readonly runtimeKey: string;
  /** An HTTP client of each replica. */
  readonly clients: readonly ReturnType<typeof client>[];
  /** Runs a statement on the database, without a store. */
  execute(sql: string): Promise<void>;
  /** Stops every replica and starts it again on its port. */
  restart(): Promise<void>;
}

/** One control plane on a SQLite file, or two on Postgres and NATS. Undefined if this machine has no NATS server. */
export const REPLICAS = {
  "one control plane on SQLite": onSqlite,
  "two replicas on Postgres and NATS": onPostgres,
} satisfies Record<string, (options: Partial<ControlPlaneOptions>) => Promise<Replicas | undefined>>;

async function onSqlite(options: Partial<ControlPlaneOptions>): Promise<Replicas> {
  const folder = await temporaryFolder();
  const file = join(folder.path, "data.db");
  async function execute(sql: string): Promise<void> {
    using database = new DatabaseSync(file);
    // The store may be in a transaction.
    await vi.waitFor(() => database.exec(sql), { interval: 5 });
  }
  return openReplicas(1, { ...options, database: `sqlite:${file}` }, { ...folder, execute });
}

async function onPostgres(options: Partial<ControlPlaneOptions>): Promise<Replicas | undefined> {
  const nats = await testNats();
  if (nats === undefined) return undefined;
  const database = await testDatabase();
  const execute = async (sql: string) => void (await database.query(sql));
  return openReplicas(2, { ...options, nats, database: database.url }, { ...database, execute });
}

async function openReplicas(
  count: number,
  options: ControlPlaneOptions,
  place: AsyncDisposable & Pick<Replicas, "execute">,
): Promise<Replicas> {
  const open = (port: number): Promise<StartedControlPlane> =>
    startControlPlane({ providers: { offline: true }, log: silentLog, ...options, port });
  const closeAll = (): Promise<void[]> => Promise.all(planes.map((plane) => plane.close({ graceMs: 0 })));
  let planes = await Promise.all(Array.from({ length: count }, async () => open(await freePort())));
  const { admin } = planes[0]!;
  const { orgId } = await admin.createOrg("Test", "sandbox");
  const { agentId, apiKey } = await admin.createAgent("Desk", { orgId });
  const { runtimeKey } = await admin.createRuntimeKey({ agentId });
  return {
    get planes() {
      return planes;
    },
    get clients() {
      return planes.map((plane) => client(plane, { agentId, apiKey, accessToken: "" }));
    },
    agentId,
    runtimeKey,
    execute: place.execute,
    async restart() {
      await closeAll();
      planes = await Promise.all(planes.map(({ port }) => open(port)));
    },
    async [Symbol.asyncDispose]() {
      await closeAll();
      await place[Symbol.asyncDispose]();
    },
  };
}
