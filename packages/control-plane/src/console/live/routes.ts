import type { Change } from "@patchbay/protocol/console";
import type { AccessWatch } from "../../accounts/access-watch.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { ServiceError } from "../../ports/service-error.ts";
import type { Store } from "../../ports/stores.ts";
import type { SignedIn } from "../actors.ts";
import { agentOf, type ConsoleDeps, type HandlersOf } from "../handler.ts";
import { changedTopics, TOPICS, type Versions } from "./queries.ts";

const POLL_MS = 1_000;
const KEEPALIVE_MS = 14_000;
/** A proxy may keep reading for a client that has disconnected. */
const MAX_AGE_MS = 15 * 60_000;
const STREAMS_PER_MEMBER = 20;

export function liveRoutes(deps: ConsoleDeps): HandlersOf<"GET /live"> {
  const feed = createLiveFeed(deps);
  return {
    async "GET /live"({ by, query, exchange }) {
      const { agentId } = query;
      if (agentId !== undefined) await agentOf(deps.store, by.orgId, agentId);
      const { c, headers } = exchange;
      const reconnected = c.req.header("Last-Event-ID") !== undefined;
      const body = feed.open(by, { agentId, reconnected });
      headers["Content-Type"] = "text/event-stream; charset=utf-8";
      headers["Cache-Control"] = "no-store, no-transform";
      headers["X-Accel-Buffering"] = "no";
      return new Response(body, { status: 200, headers });
    },
  };
}

interface FeedDeps {
  queries: Pick<ConsoleDeps["queries"], "live">;
  access: AccessWatch;
  within: Store["within"];
  clock: Clock;
  log: Log;
  /** Aborted when the process begins to stop. */
  closing: AbortSignal;
  /** Default 14,000. */
  keepaliveMs?: number;
}

interface Listener {
  by: SignedIn;
  agentId: string | undefined;
  stream: ChangeStream;
  endsAt: number;
}

/**
 * Sends open pages the topics of the lists that changed. The store is polled once per organisation, and only while one of its pages
 * is open, so that an unwatched organisation costs nothing.
 */
function createLiveFeed(deps: FeedDeps) {
  const { queries, access, within, clock, log, closing, keepaliveMs = KEEPALIVE_MS } = deps;
  const listenersByOrg = new Map<string, Set<Listener>>();

  closing.addEventListener("abort", () => {
    for (const listeners of listenersByOrg.values()) for (const { stream } of listeners) stream.end();
  });

  /** Polls until the last listener has gone. The first poll reads the versions that later ones are compared with. */
  async function poll(orgId: string, listeners: Set<Listener>): Promise<void> {
    let before: Versions | undefined;
    while (listeners.size > 0) {
      for (const { endsAt, stream } of listeners) if (clock.now() >= endsAt) stream.end();
      try {
        const now = await queries.live.versions(orgId);
        if (before) notify(listeners, before, now);
        before = now;
      } catch (error) {
        log.debug("live feed could not read the versions of lists", { orgId, error });
      }
      await clock.sleep(POLL_MS, { signal: closing }).catch(() => {});
    }
  }

  function notify(listeners: ReadonlySet<Listener>, before: Versions, now: Versions): void {
    for (const { agentId, stream } of listeners) {
      const topics = changedTopics(before, now, agentId);
      if (topics.length > 0) stream.send(topics);
    }
  }

  return {
    /** `reconnected`: the client may have missed changes. Throws `rate_limited` for more than 20 streams of one member. */
    open(
      by: SignedIn,
      { agentId, reconnected }: { agentId: string | undefined; reconnected: boolean },
    ): ReadableStream<Uint8Array> {
      const { orgId, memberId } = by;
      const known = listenersByOrg.get(orgId);
      const listeners = known ?? new Set();
      if ([...listeners].filter((one) => one.by.memberId === memberId).length >= STREAMS_PER_MEMBER) throw tooMany();
      const stream = createChangeStream({
        missed: reconnected ? TOPICS : [],
        keepaliveMs,
        onEnd() {
          watched[Symbol.dispose]();
          listeners.delete(listener);
          if (listeners.size === 0 && listenersByOrg.get(orgId) === listeners) listenersByOrg.delete(orgId);
        },
      });
      const watched = access.hold(by.access, stream.end);
      const listener: Listener = { by, agentId, stream, endsAt: clock.now() + MAX_AGE_MS };
      listeners.add(listener);
      if (!known) {
        listenersByOrg.set(orgId, listeners);
        void within(orgId, () => poll(orgId, listeners));
      }
      if (closing.aborted) stream.end();
      return stream.body;
    },
  };
}

function tooMany(): ServiceError {
  return new ServiceError(
    "rate_limited",
    `A member may have ${STREAMS_PER_MEMBER} live views open. Close some, or reload by hand.`,
  );
}

type Topic = Change["topics"][number];

/** The id makes a client send Last-Event-ID when it reconnects: it may then have missed changes. It is not an event without data. */
const OPENING = "retry: 1000\nid: live\n\n";
const KEEPALIVE = ": keepalive\n\n";

/** The stream of one client. Topics that the client has not read yet are combined in one event. */
interface ChangeStream {
  readonly body: ReadableStream<Uint8Array>;
  send(topics: readonly Topic[]): void;
  end(): void;
}

function createChangeStream(options: {
  /** Topics of the first event. */
  missed: readonly Topic[];
  keepaliveMs: number;
  /** Called once, when the stream has ended for any reason. */
  onEnd(): void;
}): ChangeStream {
  const { keepaliveMs, onEnd } = options;
  const pending = new Set<Topic>(options.missed);
  let text = OPENING;
  let ended = false;
  let cancelled = false;
  let resume: (() => void) | undefined;
  const timer = setInterval(() => {
    text ||= KEEPALIVE;
    resume?.();
  }, keepaliveMs).unref();

  const idle = (): boolean => !ended && text === "" && pending.size === 0;

  function end(): void {
    if (ended) return;
    ended = true;
    clearInterval(timer);
    resume?.();
    onEnd();
  }

  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (idle()) await new Promise<void>((resolve) => (resume = resolve));
        // A stream that was cancelled during the wait must not be written to.
        if (cancelled) return;
        if (pending.size > 0) text = withEvent(text, [...pending]);
        pending.clear();
        if (text !== "") controller.enqueue(Buffer.from(text));
        text = "";
        if (ended) controller.close();
      },
      cancel() {
        cancelled = true;
        end();
      },
    },
    { highWaterMark: 0 },
  );

  return {
    body,
    send(topics) {
      for (const topic of topics) pending.add(topic);
      resume?.();
    },
    end,
  };
}

/** An event makes a keepalive unnecessary. */
function withEvent(text: string, topics: Topic[]): string {
  const change: Change = { topics };
  return `${text === KEEPALIVE ? "" : text}event: change\ndata: ${JSON.stringify(change)}\n\n`;
}
