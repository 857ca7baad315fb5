import { CLOSE_CODES, type ControlPlaneFrame, LIMITS } from "@patchbay/protocol";
import type { Log } from "../log.ts";
import { type ConnectionEnd, type ControlPlaneConnection, openConnection, type Target } from "./connection.ts";

/** How long a replaced connection serves on if its control plane does not close it. */
const LINGER_MS = 30_000;

/** What a {@link Reconnector} reports of its connections. */
export interface ReconnectorEvents {
  welcomed(connection: ControlPlaneConnection): void;
  frame(connection: ControlPlaneConnection, frame: ControlPlaneFrame): void;
  ended(connection: ControlPlaneConnection): void;
}

/** Keeps one connection to a control plane, retries without limit, and replaces a connection without a gap. */
export class Reconnector {
  readonly #target: Target;
  readonly #hello: () => string;
  readonly #backoff: Backoff;
  readonly #log: Log;
  readonly #events: ReconnectorEvents;
  readonly #connections = new Set<ControlPlaneConnection>();
  #current: ControlPlaneConnection | undefined;
  #connecting: ControlPlaneConnection | undefined;
  /** True if `#connecting` sent a hello with an old function set. */
  #isStale = false;
  #retry: NodeJS.Timeout | undefined;
  #ended: PromiseWithResolvers<void> | undefined;

  constructor(options: { target: Target; hello: () => string; backoff: Backoff; log: Log; events: ReconnectorEvents }) {
    this.#target = options.target;
    this.#hello = options.hello;
    this.#backoff = options.backoff;
    this.#log = options.log;
    this.#events = options.events;
    this.#connect();
  }

  get current(): ControlPlaneConnection | undefined {
    return this.#current;
  }

  /** Every open connection: the current one, and those that serve on after a replacement. */
  get open(): readonly ControlPlaneConnection[] {
    return [...this.#connections].filter((connection) => connection.open);
  }

  /** Opens a second connection immediately. The first one serves until the second is welcomed, then lingers. */
  replace(): void {
    this.#restartSeries();
    if (this.#connecting) this.#isStale = true;
    else this.#connect();
  }

  /** Closes every connection and opens no more. Resolves when the last one has ended. */
  end(): Promise<void> {
    if (this.#ended) return this.#ended.promise;
    this.#ended = Promise.withResolvers();
    clearTimeout(this.#retry);
    if (this.#connections.size === 0) this.#ended.resolve();
    for (const connection of this.#connections) connection.close();
    return this.#ended.promise;
  }

  #connect(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    if (this.#ended || this.#connecting) return;
    this.#isStale = false;
    const events = {
      welcomed: this.#welcomed.bind(this),
      frame: this.#events.frame,
      ended: this.#connectionEnded.bind(this),
    };
    this.#connecting = openConnection(this.#target, this.#hello(), events, this.#log);
    this.#connections.add(this.#connecting);
  }

  #welcomed(connection: ControlPlaneConnection, agentId: string): void {
    this.#log.info("connected to the control plane", { agentId });
    const previous = this.#current;
    this.#current = connection;
    this.#connecting = undefined;
    if (previous) setTimeout(() => previous.close(), LINGER_MS).unref();
    this.#events.welcomed(connection);
    if (this.#isStale) this.#connect();
  }

  #connectionEnded(connection: ControlPlaneConnection, end: ConnectionEnd): void {
    this.#connections.delete(connection);
    const needed = connection === this.#current || connection === this.#connecting;
    if (connection === this.#current) this.#current = undefined;
    if (connection === this.#connecting) this.#connecting = undefined;
    this.#events.ended(connection);
    if (this.#ended) {
      if (this.#connections.size === 0) this.#ended.resolve();
      return;
    }
    if (!needed) return;
    // Attempts to replace an open connection may have failed for a long time. Without a new series the next one would come late.
    if (end.openMs > 0) this.#restartSeries();
    const { level, message, lasting } = explainEnd(end);
    const waitMs = this.#backoff.nextMs({ lasting });
    const retryInMs = Math.round(waitMs + (end.retryAfterMs ?? 0));
    this.#log[level](message, { ...end, openMs: Math.round(end.openMs), retryInMs });
    this.#retry ??= setTimeout(() => this.#connect(), retryInMs);
  }

  /** Drops a pending attempt and its wait: the next attempt is the first of a series. */
  #restartSeries(): void {
    this.#backoff.reset();
    clearTimeout(this.#retry);
    this.#retry = undefined;
  }
}

/** How the log describes an ended connection. The control plane's own words are in the field `reason`. */
interface EndDescription {
  level: "info" | "warn" | "error";
  message: string;
  /** True if only the owner can resolve it, so that another attempt is not urgent. */
  lasting: boolean;
}

/** Says why a connection ended and what the owner can do. The runtime retries in every case. */
export function explainEnd({ status, code }: Pick<ConnectionEnd, "status" | "code">): EndDescription {
  if (status === 429)
    return passing("warn", "the control plane refused this connection: a limit is reached; trying again");
  if (status === 503) return passing("info", "the control plane does not accept connections now; trying again");
  const refusal = status === undefined ? undefined : REFUSALS[status];
  if (refusal) return { level: "error", message: refusal, lasting: true };
  const closed = CLOSES[code];
  // The name or the role may move from one service to the other in a rollout.
  if (closed) return { level: "error", message: closed, lasting: code !== CLOSE_CODES.serviceConflict };
  if (code === CLOSE_CODES.tooManyFrames)
    return passing(
      "warn",
      "the control plane closed the connection because this runtime sent too many frames that the control plane did not ask for, of progress or of another kind; report less progress, and update this package",
    );
  if (code === CLOSE_CODES.goingAway) return passing("info", "the control plane is shutting down; reconnecting");
  return passing("warn", "no connection to the control plane; reconnecting");
}

const passing = (level: EndDescription["level"], message: string): EndDescription => ({
  level,
  message,
  lasting: false,
});

const REFUSALS: Record<number, string> = {
  401: "the control plane refused the runtime key: it is wrong, revoked or of another kind (an API key does not connect functions); create one with `patchbay runtime-keys create --agent ID`",
  403: "the control plane refused this runtime: the runtime key belongs to another agent than the given agent id; use a key of that agent",
  404: "the address is not a control plane: it does not serve /functions/connect; check the url",
};

const CLOSES: Record<number, string> = {
  [CLOSE_CODES.badFrame]:
    "the control plane closed the connection because of malformed frames; run the same version on both sides",
  [CLOSE_CODES.wrongVersion]:
    "the control plane uses another version of the frames; update this package or the control plane",
  [CLOSE_CODES.manifestRefused]:
    "the control plane refused the function set; the reason names the fault and what to do; trying again",
  [CLOSE_CODES.serviceConflict]:
    "the control plane refused this service next to another one of the agent, and the reason says why; move functions, align the default roles or use another agent; trying again",
  [CLOSE_CODES.helloTimeout]:
    "the control plane did not receive a hello in time; this process or the network is too slow",
  [CLOSE_CODES.keyRevoked]:
    "the runtime key was revoked; create a new one with `patchbay runtime-keys create --agent ID` and restart with it",
};

/** Waits between attempts to connect, each random up to its upper end, so that many runtimes do not reconnect at the same moment. */
export interface BackoffOptions {
  /** Upper end of the wait before the first retry. The lower end of every wait is two fifths of it. Default 100. */
  firstMs?: number;
  /** Upper end of the second wait, which doubles from there. Default 200. */
  baseMs?: number;
  /** Upper end of waits in the first five minutes without a connection. Default 2,500. */
  recentMaxMs?: number;
  /** Upper end of later waits, and of waits after a refusal that only the owner can resolve. Default 30,000. */
  maxMs?: number;
}

/**
 * The waits of one runtime: short first ones, because a control plane restarts within a second, then full jitter. The waits stay
 * short for five minutes, because the control plane gives up the calls of a runtime that is away for longer than `recentMaxMs`.
 */
export interface Backoff {
  /** `lasting`: the attempt was refused for a reason that only the owner can resolve. */
  nextMs(options?: { lasting?: boolean }): number;
  /** Begins a new series: the control plane is available, or was a moment ago. */
  reset(): void;
}

const RECENT_MS = 300_000;

export function createBackoff(
  options: BackoffOptions = {},
  { random = Math.random, now = () => performance.now() }: { random?: () => number; now?: () => number } = {},
): Backoff {
  const { firstMs = 100, baseMs = 200, recentMaxMs = LIMITS.runtimeReturnMs, maxMs = 30_000 } = options;
  const floorMs = firstMs * 0.4;
  let attempt = 0;
  let resetAt = now();
  return {
    nextMs({ lasting = false } = {}) {
      const limitMs = lasting || now() - resetAt > RECENT_MS ? maxMs : Math.min(recentMaxMs, maxMs);
      const spanMs = attempt === 0 ? firstMs : Math.min(limitMs, baseMs * 2 ** (attempt - 1));
      attempt++;
      return floorMs + random() * Math.max(0, spanMs - floorMs);
    },
    reset() {
      attempt = 0;
      resetAt = now();
    },
  };
}
