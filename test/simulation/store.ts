import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import type { Engine } from "@patchbay/store/engine";
import { type OpenStore, openStore, storeOn } from "@patchbay/store/open";
import { sql } from "kysely";
import { forever, type Process, type World } from "@patchbay/test-support/world";

/** When a process is killed: at its store call with this number, before or after the store has done it. */
export interface KillAt {
  call: number;
  applied: boolean;
}

/** What may go wrong between a process and its store. */
export interface StoreFaults {
  /** Store calls fail between these times. */
  lostSince: number;
  lostUntil: number;
  /** Calls may fail after they were applied. Not for an embedded store: its answers arrive while the process lives. */
  losesAnswers: boolean;
  killAt: KillAt | undefined;
  /** Breaks open connections. */
  lost?: () => void;
}

/** The database of a simulation. */
export interface Database {
  /** False for a server that several machines reach. */
  isEmbedded: boolean;
  /** The machine's own store. */
  store: OpenStore;
  /** Opens the store of a replica. */
  open(process: Process, faults: StoreFaults): Promise<OpenStore>;
  /** Lets writes fail, as on a full disk, until called with false. */
  fillDisk?(full: boolean): Promise<void>;
  /** Breaks connections during exchanges, until called with false. */
  breakConnections?(breaks: boolean): void;
  close(): Promise<void>;
}

/** At the beginning of a loss, calls still reach the store, and half of their answers get lost. */
const ANSWERS_LOST_MS = 500;

/** Methods that only start work elsewhere, take a callback, or are not asynchronous. */
const DIRECT = new Set([
  "within",
  "exclusively",
  "budget",
  "backlog",
  "failedGroups",
  "close",
  "index",
  "engine",
  "sweep",
]);

/** The store as one process sees it: each call takes time, may fail, and may be the process's last one. */
function storeOf(
  process: Process,
  { world, engine, faults }: { world: World; engine: Engine; faults: StoreFaults },
): OpenStore {
  let calls = 0;

  async function perform(name: string, work: () => unknown): Promise<unknown> {
    world.note(name, process);
    const call = ++calls;
    const { killAt } = faults;
    await world.pass(world.random.between(0.1, 2));
    if (killAt?.call === call && !killAt.applied) return killNow();
    const isLost = (): boolean => world.now < faults.lostUntil;
    const reaches = faults.losesAnswers && world.now < faults.lostSince + ANSWERS_LOST_MS;
    if (isLost() && !reaches) throw new StoreUnavailable("The store is unavailable: the connection was lost.");
    const result = await world.in(world.machine, async () => work());
    if (killAt?.call === call) return killNow();
    await world.pass(world.random.between(0.1, 2));
    // The answer got lost: the process does not know whether its change was stored.
    if (faults.losesAnswers && isLost() && world.random.chance(0.5))
      throw new StoreUnavailable("The store is unavailable: the connection was lost.");
    return result;
  }

  function killNow(): Promise<never> {
    process.kill();
    return forever();
  }

  const wrap = (path: string, target: object): object =>
    new Proxy(target, {
      get(from, key) {
        const value: unknown = Reflect.get(from, key);
        const name = String(key);
        if (DIRECT.has(name)) return value;
        if (typeof value === "function")
          return (...given: unknown[]) => perform(`${path}${name}`, () => Reflect.apply(value, from, given));
        return typeof value === "object" && value !== null ? wrap(`${name}.`, value) : value;
      },
    });
  return wrap("", storeOn(engine)) as OpenStore;
}

/** An empty SQLite database in memory, on the machine's clock. */
export async function openSqlite(world: World): Promise<Database> {
  const clock = { now: () => world.wallMs(world.machine), sleep: (ms: number) => world.pass(ms) };
  const store = await world.in(world.machine, () => openStore("sqlite::memory:", { clock }));
  const { engine } = store;
  return {
    isEmbedded: true,
    store,
    open: async (process, faults) => storeOf(process, { world, engine, faults }),
    fillDisk: (full) => fillDisk(store, full),
    close: store.close,
  };
}

async function fillDisk({ engine }: OpenStore, full: boolean): Promise<void> {
  const pages = full ? "page_count" : "1073741823";
  if (full) {
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(engine.db);
    await sql.raw(`pragma max_page_count = ${rows[0]!.page_count}`).execute(engine.db);
  } else await sql.raw(`pragma max_page_count = ${pages}`).execute(engine.db);
}
