import type { JsonValue } from "@patchbay/protocol";
import type { Bus } from "../ports/bus.ts";
import type { Log } from "../ports/log.ts";
import type { ConnectedRuntime, RuntimeStore } from "../ports/stores.ts";
import type { Line } from "./line.ts";
import type { Link } from "./link.ts";
import { Announcement, type LinkNews, RUNTIMES } from "./messages.ts";
import { RemoteLine, type RemoteWays } from "./remote-line.ts";
import type { Registry } from "./registry.ts";

/** How long what the store says of an agent's links is believed while they are announced too. */
const FRESH_MS = 1_000;

/** Which runtimes are where: those of this replica, and those of others as the store and their announcements tell. */
export interface Directory extends Disposable {
  /** The agent's lines as they are known now; where the store was not read for a second, it is read meanwhile. */
  of(agentId: string): Line[];
  find(agentId: string, instanceId: string): Line | undefined;
  /** Reads the store. Never rejects: a store that is out of reach changes nothing. */
  refresh(agentId: string): Promise<void>;
  /** Reads the store where it was not read for a second. */
  freshen(agentId: string): Promise<void>;
  /** Makes a link of this replica its runtime's line. Wakes whoever waits for the agent. */
  linkOpened(link: Link): void;
  /** Calls `arrived` after each new line of the agent, until disposed. */
  onArrival(agentId: string, arrived: () => void): Disposable;
}

interface Remotes {
  lines: Map<string, { line: RemoteLine; learnedAt: number }>;
  readAt: number;
  reading: Promise<void> | undefined;
}

export function createDirectory(options: {
  registry: Registry;
  store: RuntimeStore;
  bus: Bus;
  ways: RemoteWays;
  log: Log;
  /** A runtime's current line, here or elsewhere, is another one now. */
  opened(line: Line): void;
  /** Another replica has a newer link of the runtime. */
  replaced(link: Link): void;
}): Directory {
  const { registry, store, bus, ways, log, opened, replaced } = options;
  const agents = new Map<string, Remotes>();
  const arrivals = new Map<string, Set<() => void>>();

  function remotesOf(agentId: string): Remotes {
    const known = agents.get(agentId);
    if (known) return known;
    const fresh: Remotes = { lines: new Map(), readAt: Number.NEGATIVE_INFINITY, reading: undefined };
    agents.set(agentId, fresh);
    return fresh;
  }

  /** The runtime's remote line, made anew where its link is another one; that is told when `tell` is set. */
  function learn(row: Omit<ConnectedRuntime, "replicaId">): { line: RemoteLine; fresh: boolean } {
    const { draining, ...identity } = row;
    const { lines } = remotesOf(row.agentId);
    const known = lines.get(row.instanceId)?.line;
    if (known?.identity.connectionId === row.connectionId) {
      const woken = known.draining && !draining;
      known.draining = draining;
      return { line: known, fresh: woken };
    }
    const line = new RemoteLine(identity, ways);
    line.draining = draining;
    lines.set(row.instanceId, { line, learnedAt: performance.now() });
    known?.closed();
    return { line, fresh: true };
  }

  function tell(line: Line): void {
    opened(line);
    for (const arrived of arrivals.get(line.identity.agentId) ?? []) arrived();
  }

  async function read(agentId: string): Promise<void> {
    const beganAt = performance.now();
    const rows = await store.links(agentId);
    const remotes = remotesOf(agentId);
    remotes.readAt = beganAt;
    const told = new Set<string>();
    for (const { replicaId, ...row } of rows) {
      const here = registry.find(agentId, row.instanceId);
      if (replicaId === ways.replicaId) continue;
      told.add(row.instanceId);
      const late = remotes.lines.get(row.instanceId);
      // What was announced while the store was asked is newer than its answer.
      if (late && late.learnedAt > beganAt) continue;
      const { line, fresh } = learn(row);
      if (here && here.openedAt < beganAt) replaced(here);
      if (fresh) tell(line);
    }
    for (const [instanceId, { learnedAt }] of remotes.lines)
      if (!told.has(instanceId) && learnedAt <= beganAt) remotes.lines.delete(instanceId);
  }

  function refresh(agentId: string): Promise<void> {
    const remotes = remotesOf(agentId);
    remotes.reading ??= read(agentId)
      .catch((error: unknown) => log.debug("the links of an agent could not be read", { agentId, error }))
      .finally(() => {
        remotes.reading = undefined;
        if (remotes.lines.size === 0 && !registry.has(agentId)) agents.delete(agentId);
      });
    return remotes.reading;
  }

  async function freshen(agentId: string): Promise<void> {
    if (performance.now() - remotesOf(agentId).readAt > FRESH_MS) await refresh(agentId);
  }

  function hear(body: JsonValue): void {
    const parsed = Announcement.safeParse(body);
    if (!parsed.success || parsed.data.replicaId === ways.replicaId) return;
    const contested = new Set<string>();
    for (const news of parsed.data.links) {
      hearOne(news);
      if (news.event === "opened" && registry.find(news.agentId, news.instanceId)) contested.add(news.agentId);
    }
    // Two replicas have a link of one runtime: the store knows which is newer.
    for (const agentId of contested) void refreshAfter(agentId);
  }

  async function refreshAfter(agentId: string): Promise<void> {
    await agents.get(agentId)?.reading;
    await refresh(agentId);
  }

  function hearOne({ event, calls, ...row }: LinkNews): void {
    const lines = agents.get(row.agentId)?.lines;
    const known = lines?.get(row.instanceId)?.line;
    const same = known?.identity.connectionId === row.connectionId;
    if (event === "closed") {
      if (!same) return;
      lines?.delete(row.instanceId);
      return known.closed();
    }
    // News of a link that is not known may be late: only its opening says that it is the newest.
    if (!same && known && event === "changed") return;
    const wasOut = same && !known.open;
    const { line, fresh } = learn(row);
    line.heard({ draining: row.draining, calls });
    if (fresh || wasOut) tell(line);
  }

  const hearing = bus.subscribe(RUNTIMES, hear);

  return {
    of(agentId) {
      const remotes = agents.get(agentId);
      const here = registry.of(agentId);
      const known = here.length > 0 || (remotes?.lines.size ?? 0) > 0;
      if (known) void freshen(agentId);
      if (!remotes || remotes.lines.size === 0) return here;
      return [...here, ...values(remotes).filter((line) => !registry.find(agentId, line.identity.instanceId))];
    },
    find: (agentId, instanceId) =>
      registry.find(agentId, instanceId) ?? agents.get(agentId)?.lines.get(instanceId)?.line,
    refresh,
    freshen,
    linkOpened(link) {
      const { agentId, instanceId } = link.identity;
      const lines = agents.get(agentId)?.lines;
      const remote = lines?.get(instanceId)?.line;
      lines?.delete(instanceId);
      remote?.closed();
      tell(link);
    },
    onArrival(agentId, arrived) {
      const waiting = arrivals.get(agentId) ?? new Set();
      arrivals.set(agentId, waiting.add(arrived));
      return {
        [Symbol.dispose]() {
          waiting.delete(arrived);
          if (waiting.size === 0) arrivals.delete(agentId);
        },
      };
    },
    [Symbol.dispose]: () => hearing[Symbol.dispose](),
  };
}

function values({ lines }: Remotes): RemoteLine[] {
  return [...lines.values()].map(({ line }) => line);
}
