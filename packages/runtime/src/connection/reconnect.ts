import { clearTimer, setTimeout } from "@patchbay/kit/time";
import { CLOSE_CODES, type ControlPlaneFrame } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { ConnectionError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Backoff } from "./backoff.ts";
import {
  type ConnectionEnd,
  type ControlPlaneConnection,
  openConnection,
  type OpenSocket,
  type Target,
} from "./connection.ts";
import type { Proxy, Tunnel } from "./proxy.ts";

/** How long a replaced connection still serves if its control plane does not close it. */
const LINGER_MS = 30_000;

/** What a {@link Reconnector} reports about its connections. */
export interface ReconnectorEvents {
  welcomed(connection: ControlPlaneConnection): void;
  frame(connection: ControlPlaneConnection, frame: ControlPlaneFrame): void;
  ended(connection: ControlPlaneConnection): void;
  suspended(): void;
  /** Called once, when no further attempt can succeed: see {@link Reconnector}. */
  refused(error: ConnectionError): void;
}

interface ReconnectorOptions {
  target: Target;
  proxy: Proxy | undefined;
  hello: () => Promise<string>;
  /** The console's name for this runtime. */
  runtimeId: string;
  backoff: Backoff;
  log: Log;
  events: ReconnectorEvents;
  openSocket?: OpenSocket | undefined;
}

/**
 * Keeps one connection to a control plane, retries without limit, and replaces a connection without a gap. Gives up only when the
 * key or the function set is refused: at once before the first welcome, later after `refusedMs` without a connection.
 */
export class Reconnector {
  readonly #options: ReconnectorOptions;
  /** Loaded before the first attempt if there is a proxy. */
  #tunnel: Tunnel | undefined;
  #wasWelcomed = false;
  readonly #connections = new Set<ControlPlaneConnection>();
  #current: ControlPlaneConnection | undefined;
  #connecting: ControlPlaneConnection | undefined;
  /** True if `#connecting` sent a hello with an old function set. */
  #isStale = false;
  #retry: NodeJS.Timeout | undefined;
  #ended: PromiseWithResolvers<void> | undefined;

  constructor(options: ReconnectorOptions) {
    this.#options = options;
    if (options.proxy) void this.#loadTunnel(options.proxy);
    else this.#connect();
  }

  get current(): ControlPlaneConnection | undefined {
    return this.#current;
  }

  /** Every open connection: the current one, and replaced ones that still serve. */
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
    clearTimer(this.#retry);
    if (this.#connections.size === 0) this.#ended.resolve();
    for (const connection of this.#connections) connection.close();
    return this.#ended.promise;
  }

  async #loadTunnel(proxy: Proxy): Promise<void> {
    this.#tunnel = await proxy.load();
    this.#connect();
  }

  #connect(): void {
    clearTimer(this.#retry);
    this.#retry = undefined;
    const { proxy, target, hello, log, events, openSocket } = this.#options;
    if (this.#ended || this.#connecting || (proxy && !this.#tunnel)) return;
    this.#isStale = false;
    this.#connecting = openConnection({
      target,
      hello: hello(),
      events: { ...events, welcomed: this.#welcomed.bind(this), ended: this.#connectionEnded.bind(this) },
      log,
      ...present({ tunnel: this.#tunnel, openSocket }),
    });
    this.#connections.add(this.#connecting);
  }

  #welcomed(connection: ControlPlaneConnection, agentId: string): void {
    const { log, runtimeId, events } = this.#options;
    log.info("connected to the control plane", { agentId, runtimeId });
    const previous = this.#current;
    this.#wasWelcomed = true;
    this.#current = connection;
    this.#connecting = undefined;
    if (previous) setTimeout(() => previous.close(), LINGER_MS).unref();
    events.welcomed(connection);
    if (this.#isStale) this.#connect();
  }

  #connectionEnded(connection: ControlPlaneConnection, end: ConnectionEnd): void {
    const { log, events, proxy, backoff } = this.#options;
    this.#connections.delete(connection);
    const needed = connection === this.#current || connection === this.#connecting;
    if (connection === this.#current) this.#current = undefined;
    if (connection === this.#connecting) this.#connecting = undefined;
    events.ended(connection);
    if (this.#ended) {
      if (this.#connections.size === 0) this.#ended.resolve();
      return;
    }
    if (!needed) return;
    // Attempts to replace an open connection may have failed for a long time. Without a new series the next one would come late.
    if (end.openMs > 0) this.#restartSeries();
    const { level, message, lasting, refusal } = explainEnd(end);
    const fields = { ...end, openMs: Math.round(end.openMs), ...(proxy && { proxy: proxy.shown }) };
    // The present connection still serves while a replacement is refused.
    const refused = refusal !== undefined && !this.#current;
    const waitMs = refused && !this.#wasWelcomed ? undefined : backoff.nextMs({ lasting, refused });
    if (refused && waitMs === undefined) {
      log.error(`${message}; the runtime stops`, fields);
      events.refused(new ConnectionError(refusal, sentenceOf(message, end.reason)));
      return;
    }
    const retryInMs = Math.round((waitMs ?? 0) + (end.retryAfterMs ?? 0));
    log[level](message, { ...fields, retryInMs });
    this.#retry ??= setTimeout(() => this.#connect(), retryInMs);
  }

  /** Drops a pending attempt and its wait: the next attempt begins a series. */
  #restartSeries(): void {
    this.#options.backoff.reset();
    clearTimer(this.#retry);
    this.#retry = undefined;
  }
}

/** How the log describes an ended connection. The control plane's own words are in the field `reason`. */
interface EndDescription {
  level: "info" | "warn" | "error";
  message: string;
  /** True if only the owner can resolve it, so that another attempt is not urgent. */
  lasting: boolean;
  /** Set if the control plane refused this key or this function set, so that a later attempt would fail too. */
  refusal?: ConnectionError["code"];
}

/** Says why a connection ended and what the owner can do. */
export function explainEnd({
  status,
  proxyStatus,
  code,
}: Pick<ConnectionEnd, "status" | "proxyStatus" | "code">): EndDescription {
  if (proxyStatus !== undefined) return explainProxy(proxyStatus);
  const known = (status === undefined ? undefined : STATUSES[status]) ?? CLOSES[code];
  return known ?? passing("warn", "no connection to the control plane; reconnecting");
}

const passing = (level: EndDescription["level"], message: string): EndDescription => ({
  level,
  message,
  lasting: false,
});

const lasting = (message: string, refusal?: ConnectionError["code"]): EndDescription => ({
  level: "error",
  message,
  lasting: true,
  ...present({ refusal }),
});

/** A proxy that cannot reach the control plane answers 5xx, also while the control plane restarts. */
function explainProxy(status: number): EndDescription {
  if (status === 407)
    return lasting(
      "the proxy refused the credentials, or requires them: give them in its address, http://USER:PASSWORD@HOST:PORT; trying again",
    );
  if (status >= 500) return passing("warn", "the proxy does not reach the control plane; trying again");
  return lasting(
    "the proxy refused to connect to the control plane; allow CONNECT to its address, or except it with NO_PROXY; trying again",
  );
}

const STATUSES: Record<number, EndDescription> = {
  401: lasting(
    "the control plane refused the runtime key: it is wrong, revoked or of another kind (an API key does not connect functions); create one with `patchbay runtime-keys create --agent ID`",
    "authentication_failed",
  ),
  403: lasting(
    "the control plane refused this runtime: the runtime key belongs to another agent than the given agent id; use a key of that agent",
    "agent_mismatch",
  ),
  404: lasting("the address is not a control plane: it does not serve /functions/connect; check the url"),
  429: passing("warn", "the control plane refused this connection: a limit is reached; trying again"),
  503: passing("info", "the control plane does not accept connections now; trying again"),
};

const CLOSES: Record<number, EndDescription> = {
  [CLOSE_CODES.badFrame]: lasting(
    "the control plane closed the connection because of malformed frames; run the same version on both sides",
  ),
  [CLOSE_CODES.wrongVersion]: lasting(
    "the control plane uses another version of the frames; update this package or the control plane",
  ),
  [CLOSE_CODES.manifestRefused]: lasting(
    "the control plane refused the function set; the reason names the fault and what to do",
    "manifest_refused",
  ),
  // Passing, because in a rollout the name or the role may move from one service to the other.
  [CLOSE_CODES.serviceConflict]: passing(
    "error",
    "the control plane refused this service next to another one of the agent, and the reason says why; move functions, align the default roles or use another agent; trying again",
  ),
  [CLOSE_CODES.helloTimeout]: lasting(
    "the control plane did not receive a hello in time; this process or the network is too slow",
  ),
  [CLOSE_CODES.keyRevoked]: lasting(
    "the runtime key was revoked; create a new one with `patchbay runtime-keys create --agent ID` and restart with it",
    "authentication_failed",
  ),
  [CLOSE_CODES.tooManyFrames]: passing(
    "warn",
    "the control plane closed the connection because this runtime sent too many frames that the control plane did not ask for, of progress or of another kind; report less progress, and update this package",
  ),
  [CLOSE_CODES.goingAway]: passing("info", "the control plane is shutting down; reconnecting"),
};

/** A log message and the control plane's reason as sentences for people. */
function sentenceOf(message: string, reason: string): string {
  const sentence = `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  return reason === "" ? sentence : `${sentence} Its reason: ${reason}`;
}
