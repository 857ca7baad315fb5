import type { PlaneFrame } from "@patchbay/protocol";
import type { Log } from "../log.ts";
import type { Backoff } from "./backoff.ts";
import { explainEnd } from "./explain-end.ts";
import { openLink, type Link } from "./link.ts";
import type { Target } from "./target.ts";

/** A replaced link serves on until its control plane closes it, at most this long. */
const LINGER_MS = 30_000;

/** Keeps one link to a control plane, for ever, and hands over from one to the next without a gap. */
export interface LinkKeeper {
  readonly current: Link | undefined;
  /** Every open link: the current one, and those that serve on after a replacement. */
  readonly open: readonly Link[];
  /** Dials a second link at once; the first one serves until the second is welcomed, and lingers. */
  replace(): void;
  /** Closes every link and dials no more; resolves when the last one has ended. */
  end(): Promise<void>;
}

export interface LinkKeeperEvents {
  welcomed(link: Link): void;
  frame(link: Link, frame: PlaneFrame): void;
  ended(link: Link): void;
}

export function keepLinked(options: {
  target: Target;
  hello: () => string;
  backoff: Backoff;
  log: Log;
  events: LinkKeeperEvents;
}): LinkKeeper {
  const { target, hello, backoff, log, events } = options;
  const links = new Set<Link>();
  let current: Link | undefined;
  let dialling: Link | undefined;
  /** True when the link being dialled says hello with an old function set. */
  let stale = false;
  let retry: NodeJS.Timeout | undefined;
  let ended: PromiseWithResolvers<void> | undefined;

  function dial(): void {
    clearTimeout(retry);
    retry = undefined;
    if (ended || dialling) return;
    stale = false;
    dialling = openLink(target, hello(), { ...events, welcomed, ended: linkEnded }, log);
    links.add(dialling);
  }

  function welcomed(link: Link, agentId: string): void {
    log.info("connected to the control plane", { agentId });
    const previous = current;
    current = link;
    dialling = undefined;
    if (previous) setTimeout(() => previous.close(), LINGER_MS).unref();
    events.welcomed(link);
    if (stale) dial();
  }

  function linkEnded(link: Link, end: Parameters<typeof explainEnd>[0]): void {
    links.delete(link);
    const needed = link === current || link === dialling;
    if (link === current) current = undefined;
    if (link === dialling) dialling = undefined;
    events.ended(link);
    if (ended) {
      if (links.size === 0) ended.resolve();
      return;
    }
    if (!needed) return;
    // While it was open, attempts to replace it may have failed for long: their next one would come late.
    if (end.openMs > 0) soon();
    const { level, message, lasting } = explainEnd(end);
    const waitMs = backoff.nextMs({ lasting });
    const retryInMs = Math.round(waitMs + (end.retryAfterMs ?? 0));
    log[level](message, { ...end, openMs: Math.round(end.openMs), retryInMs });
    retry ??= setTimeout(dial, retryInMs);
  }

  /** Drops a pending attempt and its pause: the next attempt is the first of a series. */
  function soon(): void {
    backoff.reset();
    clearTimeout(retry);
    retry = undefined;
  }

  dial();
  return {
    get current() {
      return current;
    },
    get open() {
      return [...links].filter((link) => link.open);
    },
    replace() {
      soon();
      if (dialling) stale = true;
      else dial();
    },
    end() {
      if (ended) return ended.promise;
      ended = Promise.withResolvers();
      clearTimeout(retry);
      if (links.size === 0) ended.resolve();
      for (const link of links) link.close();
      return ended.promise;
    },
  };
}
