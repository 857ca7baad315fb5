import type { Clock } from "../../ports/clock.ts";
import type { AccessWatch } from "../../ports/access-watch.ts";
import type { ListSigns } from "../../ports/console-agents.ts";
import type { Log } from "../../ports/log.ts";
import { ServiceError } from "../../ports/service-error.ts";
import type { Store } from "../../ports/stores.ts";
import type { SignedIn } from "../handler.ts";
import { type ChangeStream, createChangeStream } from "./change-stream.ts";
import { differences, TOPICS } from "./differences.ts";

const LOOK_MS = 1_000;
const KEEPALIVE_MS = 14_000;
/** A proxy may go on reading for a client that is gone. */
const MAX_AGE_MS = 15 * 60_000;
const MOST_STREAMS = 20;

export interface LiveDeps {
  store: Pick<Store, "console">;
  access: AccessWatch;
  within: Store["within"];
  clock: Clock;
  log: Log;
  /** Aborted when the process begins to stop. */
  closing: AbortSignal;
  /** Default 14,000. */
  keepaliveMs?: number;
}

/** Tells consoles when lists changed, by looking while one is open: queries know nothing of it. */
export interface Live {
  /** Throws `rate_limited` for more than 20 streams of one member. `again`: the client may have missed something. */
  open(by: SignedIn, options: { agentId: string | undefined; again: boolean }): ReadableStream<Uint8Array>;
}

interface Listener {
  by: SignedIn;
  agentId: string | undefined;
  stream: ChangeStream;
  endsAt: number;
}

export function createLive(deps: LiveDeps): Live {
  const { store, access, within, clock, log, closing, keepaliveMs = KEEPALIVE_MS } = deps;
  /** Those that listen, by organisation: they share what is looked up for them. */
  const rooms = new Map<string, Set<Listener>>();

  closing.addEventListener("abort", () => {
    for (const listeners of rooms.values()) for (const { stream } of listeners) stream.end();
  });

  /** Looks while anybody listens; begins with what is so now, so that the first change is one. */
  async function watch(orgId: string, listeners: Set<Listener>): Promise<void> {
    let known: ListSigns | undefined;
    while (listeners.size > 0) {
      endOld(listeners);
      try {
        const now = await store.console.live.signs(orgId);
        if (known && now) tell(listeners, known, now);
        known = now;
      } catch (error) {
        log.debug("changes of an organisation could not be looked for", { orgId, error });
      }
      await clock.sleep(LOOK_MS, { signal: closing }).catch(() => {});
    }
  }

  function tell(listeners: ReadonlySet<Listener>, known: ListSigns, now: ListSigns): void {
    for (const { agentId, stream } of listeners) {
      const topics = differences(known, now, agentId);
      if (topics.length > 0) stream.tell(topics);
    }
  }

  function endOld(listeners: ReadonlySet<Listener>): void {
    for (const { endsAt, stream } of listeners) if (clock.now() >= endsAt) stream.end();
  }

  return {
    open(by, { agentId, again }) {
      const { orgId, memberId } = by;
      const room = rooms.get(orgId);
      const listeners = room ?? new Set();
      if ([...listeners].filter((one) => one.by.memberId === memberId).length >= MOST_STREAMS) throw tooMany();
      const stream = createChangeStream({
        missed: again ? TOPICS : [],
        keepaliveMs,
        onEnd() {
          held[Symbol.dispose]();
          listeners.delete(listener);
          if (listeners.size === 0 && rooms.get(orgId) === listeners) rooms.delete(orgId);
        },
      });
      const held = access.hold({ kind: "session", id: by.sessionId }, stream.end);
      const listener: Listener = { by, agentId, stream, endsAt: clock.now() + MAX_AGE_MS };
      listeners.add(listener);
      if (!room) {
        rooms.set(orgId, listeners);
        void within(orgId, () => watch(orgId, listeners));
      }
      if (closing.aborted) stream.end();
      return stream.body;
    },
  };
}

function tooMany(): ServiceError {
  return new ServiceError(
    "rate_limited",
    `A member may have ${MOST_STREAMS} live views open. Close some, or reload by hand.`,
  );
}
