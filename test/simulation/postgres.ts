import { silentLog } from "@patchbay/kit";
import { storeOn } from "@patchbay/store/open";
import { openPostgres } from "@patchbay/store/open-postgres";
import { type Link, PostgresServer } from "./postgres-server.ts";
import { PostgresSession } from "./postgres-session.ts";
import type { Database, StoreFaults } from "./store.ts";
import { type Process, World } from "@patchbay/test-support/world";

/** Few connections, so that queries wait for one. */
const ADDRESS = "postgres://patchbay@simulated:5432/postgres?pool_size=4";

/** Starts Postgres in this thread, and returns what opens it, emptied, for one simulation after the other. */
export async function startPostgres(): Promise<(world: World) => Promise<Database>> {
  const session = await PostgresSession.start();
  await migrate(session);
  return (world) => {
    session.empty();
    return openOn(new PostgresServer(world, session));
  };
}

/** Also loads the driver, which would otherwise take time outside the simulation. */
async function migrate(session: PostgresSession): Promise<void> {
  const world = new World(0);
  using _ = world.install();
  let isDone = false;
  const opening = openOn(new PostgresServer(world, session)).finally(() => (isDone = true));
  while (!(await world.run(() => isDone))) await Promise.resolve();
  await opening;
}

async function openOn(server: PostgresServer): Promise<Database> {
  const { world } = server;

  /** The driver has no timeouts: they would be of real time, which passes more slowly. */
  async function connect(process: Process, faults: StoreFaults) {
    const link: Link = { process, faults, sent: 0 };
    faults.lost = () => server.reset(link);
    const driver = {
      stream: () => server.connect(link),
      connectionTimeoutMillis: 0,
      query_timeout: 0,
      idleTimeoutMillis: 0,
    };
    const { engine } = await world.in(process, () => openPostgres(ADDRESS, { log: silentLog, driver }));
    return storeOn(engine);
  }

  return {
    isEmbedded: false,
    store: await connect(world.machine, { lostSince: 0, lostUntil: 0, losesAnswers: true, killAt: undefined }),
    open: connect,
    breakConnections: (breaks) => void (server.breaks = breaks),
    async close() {},
  };
}
