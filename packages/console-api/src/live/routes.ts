import type { Change } from "@patchbay/protocol/console";
import { eventStream } from "@patchbay/server/kernel/event-stream";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import type { Followed } from "@patchbay/engine/run/api";
import type { SignedIn } from "../actors.ts";
import { agentOf, type ConsoleDeps, type Handlers, ownerOf } from "../handler.ts";
import { changedTopics, TOPICS, type Versions } from "./queries.ts";

const POLL_MS = 1_000;
const KEEPALIVE_MS = 14_000;
/** A proxy may keep reading for a client that has disconnected. */
const MAX_AGE_MS = 15 * 60_000;
const STREAMS_PER_MEMBER = 20;

type FeedDeps = Pick<ConsoleDeps, "queries" | "within" | "clock" | "log" | "closing">;

/** The id makes a reconnecting client send Last-Event-ID: it may have missed changes. Not an event: it has no data. */
const OPENING = "retry: 1000\nid: live\n\n";

const translator = {
  open: () => OPENING,
  event: ({ body }: Followed) => `event: change\ndata: ${body}\n\n`,
  close: () => "",
};

export function liveRoutes(deps: FeedDeps & Pick<ConsoleDeps, "store" | "streams" | "keepaliveMs">) {
  const { store, streams, clock, log, closing, keepaliveMs = KEEPALIVE_MS } = deps;
  const feed = createLiveFeed(deps);
  return {
    async "GET /live"({ by, query, exchange }): Promise<Response> {
      const { agentId } = query;
      if (agentId !== undefined) await agentOf(store, by.orgId, agentId);
      const { c, headers } = exchange;
      const listener = feed.listen(by, agentId, c.req.header("Last-Event-ID") === undefined ? [] : TOPICS);
      const held = streams.watch(ownerOf(by));
      headers["Content-Type"] = "text/event-stream; charset=utf-8";
      headers["Cache-Control"] = "no-store, no-transform";
      headers["X-Accel-Buffering"] = "no";
      const stream = eventStream({
        follow: listener.changes,
        revoked: AbortSignal.any([held.revoked, closing]),
        translator,
        clock,
        keepaliveMs,
        maxAgeMs: MAX_AGE_MS,
        cut: () => c.env.outgoing?.destroy(),
        onEnd() {
          held[Symbol.dispose]();
          listener[Symbol.dispose]();
        },
        onFailure: (error) => log.debug("live feed ended", { error }),
      });
      return new Response(stream, { status: 200, headers });
    },
  } satisfies Handlers;
}

type Topic = Change["topics"][number];

/** An open page. */
interface Listener extends Disposable {
  memberId: string;
  agentId: string | undefined;
  send(topics: readonly Topic[]): void;
  /** Topics that the client has not read yet are combined in one event. */
  changes(signal: AbortSignal): AsyncGenerator<Followed[], undefined, undefined>;
}

/**
 * Sends open pages the topics of changed lists. The feed polls the store once per organisation, and only while one of
 * its pages is open, so that an unwatched organisation costs nothing.
 */
function createLiveFeed({ queries, within, clock, log, closing }: FeedDeps) {
  const listenersByOrg = new Map<string, Set<Listener>>();

  /** Polls while there are listeners. The first poll reads the versions that later ones are compared with. */
  async function poll(orgId: string, listeners: ReadonlySet<Listener>): Promise<void> {
    let before: Versions | undefined;
    while (listeners.size > 0 && !closing.aborted) {
      try {
        const now = await queries.live.versions(orgId);
        for (const { agentId, send } of before ? listeners : []) send(changedTopics(before!, now, agentId));
        before = now;
      } catch (error) {
        log.debug("live feed could not read the versions of lists", { orgId, error });
      }
      await clock.sleep(POLL_MS, { signal: closing }).catch(() => {});
    }
  }

  return {
    /** `missed`: topics in the first event. Throws `rate_limited` above 20 streams per member. */
    listen({ orgId, memberId }: SignedIn, agentId: string | undefined, missed: readonly Topic[]): Listener {
      const known = listenersByOrg.get(orgId);
      const listeners = known ?? new Set();
      if ([...listeners].filter((other) => other.memberId === memberId).length >= STREAMS_PER_MEMBER) throw tooMany();
      const listener = createListener({ memberId, agentId, missed }, () => {
        listeners.delete(listener);
        if (listeners.size === 0 && listenersByOrg.get(orgId) === listeners) listenersByOrg.delete(orgId);
      });
      listeners.add(listener);
      if (!known) {
        listenersByOrg.set(orgId, listeners);
        void within(orgId, () => poll(orgId, listeners));
      }
      return listener;
    },
  };
}

function createListener(
  { missed, ...page }: Pick<Listener, "memberId" | "agentId"> & { missed: readonly Topic[] },
  leave: () => void,
): Listener {
  const pending = new Set<Topic>(missed);
  let wake = (): void => {};
  return {
    ...page,
    send(topics) {
      for (const topic of topics) pending.add(topic);
      if (pending.size > 0) wake();
    },
    async *changes(signal) {
      signal.addEventListener("abort", () => wake());
      while (!signal.aborted) {
        if (pending.size === 0) await new Promise<void>((resolve) => (wake = resolve));
        const change: Change = { topics: [...pending] };
        pending.clear();
        if (change.topics.length > 0) yield [{ body: JSON.stringify(change) }];
      }
      return undefined;
    },
    [Symbol.dispose]: leave,
  };
}

function tooMany(): ServiceError {
  return new ServiceError(
    "rate_limited",
    `A member may have ${STREAMS_PER_MEMBER} live views open. Close some, or reload by hand.`,
  );
}
