import type { Bus } from "../ports/bus.ts";
import type { Link } from "./link.ts";
import { type Announcement, type LinkNews, RUNTIMES } from "./messages.ts";

/** Links that open or close together, after a restart say, are told of together. */
const GATHER_MS = 50;
/** Links told of in one message: it stays far below what a bus carries. */
const BATCH = 400;

/** Tells the other replicas of this one's links. */
export interface Announcer {
  tell(link: Link, event: LinkNews["event"]): void;
  /** Tells of the links whose load changed since it was last told. */
  tellLoads(links: readonly Link[]): void;
  /** Tells at once what waits to be told. */
  flush(): void;
}

export function createAnnouncer({ bus, replicaId }: { bus: Bus; replicaId: string }): Announcer {
  const due = new Map<Link, LinkNews["event"]>();
  const told = new WeakMap<Link, number>();
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const news = [...due].map(([link, event]) => newsOf(link, event));
    for (const link of due.keys()) told.set(link, link.calls);
    due.clear();
    for (let at = 0; at < news.length; at += BATCH) {
      const announcement: Announcement = { replicaId, links: news.slice(at, at + BATCH) };
      bus.publish(RUNTIMES, announcement);
    }
  }

  return {
    tell(link, event) {
      // An opening that was not told of yet stays one, whatever else changes.
      if (event !== "changed" || !due.has(link)) due.set(link, event);
      timer ??= setTimeout(flush, GATHER_MS);
    },
    tellLoads(links) {
      for (const link of links) if (link.calls !== (told.get(link) ?? 0) && !due.has(link)) due.set(link, "changed");
      if (due.size > 0) flush();
    },
    flush,
  };
}

function newsOf(link: Link, event: LinkNews["event"]): LinkNews {
  const { connectionId, agentId, instanceId, service, deployment, manifestHash, concurrency } = link.identity;
  const { draining, calls } = link;
  const offered = { service, ...(deployment !== undefined && { deployment }), manifestHash };
  return { event, connectionId, agentId, instanceId, ...offered, concurrency, draining, calls };
}
