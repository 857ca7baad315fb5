import { clearTimer, randomUUID, setTimeout } from "@patchbay/kit/time";
import { type ControlPlaneFrame, type RuntimeFrame } from "@patchbay/protocol";
import { isClearText } from "@patchbay/kit";
import { readProxyVariables } from "../config.ts";
import type { ConnectionError } from "../errors.ts";
import { defaultLog, type Log } from "../log.ts";
import { checkFlowKeys } from "../flow/tags.ts";
import type { Service } from "../service.ts";
import { type BackoffOptions, createBackoff } from "./backoff.ts";
import { Calls } from "./calls.ts";
import { type ControlPlaneConnection, type OpenSocket, parseTarget, requireValidDeployment } from "./connection.ts";
import { helloOf } from "./hello.ts";
import type { ApprovalNotice } from "./notices.ts";
import { proxyFor } from "./proxy.ts";
import { type Answering, answerHook, answerJudge, answerPrepare } from "./questions.ts";
import { Reconnector } from "./reconnect.ts";
import { createTraces } from "./traces.ts";

/** Where a runtime connects, as which agent, and how many calls it accepts. */
export interface ConnectOptions {
  /** Base address of the control plane: `https://host`, or `ws://127.0.0.1:8787`. */
  url: string;
  /** A runtime key, which decides the agent. A refused key at the first connection stops the runtime. */
  key: string;
  /** If given, the control plane refuses another agent's key, so that the functions never serve a wrong agent. */
  agentId?: string;
  /**
   * Names what this process runs: a release id or a git commit, 1 to 100 characters. The newest deployment's function
   * set serves a service, and a deployment is as old as its first connection, so a restarted process from an older one
   * stays old. Without a name, each process is a separate deployment.
   */
  deployment?: string;
  /** Calls that run at the same time: 1 to 10,000, default 16. Further calls wait, within their timeouts. */
  concurrency?: number;
  /**
   * The HTTP or HTTPS proxy to connect through: `http://user:password@proxy.example:3128`, or false for none. Default: the proxy
   * that HTTPS_PROXY, HTTP_PROXY (only for an address without TLS) or ALL_PROXY names, unless NO_PROXY excepts the control plane.
   */
  proxy?: string | false;
  /**
   * Sends name, message and stack of what handlers and `authorize` throw to the control plane. It shows them in the
   * console to the organisation's developers and owners, and never to viewers, the model or the caller. They may
   * contain the owner's data. Default: false, so that they stay in the runtime's log. `patchbay dev` sends them.
   */
  reportErrors?: boolean;
  /**
   * Sends the arguments, contexts and roles of the functions' `cases` to the control plane, which offers them in the
   * console to members who may make test calls, and to no one else. At most 65,536 JSON characters. They may contain
   * the owner's data. Default: false, so that only their names and the decisions on them leave the runtime. `patchbay
   * dev` sends them.
   */
  reportCases?: boolean;
  /**
   * The parsed `access.lock.json` next to the service. The control plane shows on the console's Access page what the
   * functions allow more or less than this lock. At most 262,144 JSON characters. Default: none. `patchbay connect` and
   * `patchbay dev` send the lock file next to the service.
   */
  accessLock?: Readonly<Record<string, unknown>>;
  /**
   * Secrets with which this service's runtimes prove their results to each other, the newest first: at least 32
   * characters each. Required with `flows: { mode: "deny" }`; with `"ask"` and without one, no result is trusted.
   */
  flowKeys?: readonly string[];
  /**
   * Called with each call that waits for an approval, once the control plane has stored the request, so that the owner can notify
   * approvers from their own network. At most once for each: not called by a process that started later. Errors are logged.
   */
  onApproval?: (request: ApprovalNotice) => void | Promise<void>;
  /**
   * Connects a candidate that never serves: the control plane asks how its checks decide on each ended call of the
   * agent, and counts the differences on the console's Access page. It receives no call, and models do not see its
   * functions. If an agent has several candidates, the control plane asks the one that connected last. Default: false.
   */
  shadow?: boolean;
  /** Receives the log lines from the runtime and its handlers. Default: JSON lines on standard error. */
  log?: Log;
  /** Stops the runtime when aborted, without draining. */
  signal?: AbortSignal;
  /** Waits between attempts to connect. Default: up to 0.1 s first, then random ones up to 2.5 s for five minutes, then up to 30 s. */
  backoff?: BackoffOptions;
}

/** A connected or connecting runtime. */
export interface Connection {
  /** Identifies this process to control planes; new for each `connect`. */
  readonly instanceId: string;
  /** `connecting` also between two connections. `draining` from `stop` until the open calls are done. */
  readonly state: "connecting" | "connected" | "draining" | "stopped";
  /** Resolves when a control plane first accepts the functions. Rejects if the runtime stops before. */
  readonly ready: Promise<void>;
  /**
   * Resolves when the runtime has stopped because of `stop` or `signal`. Rejects with a {@link ConnectionError} when it stopped
   * because the control plane refused its key or its functions: at its first connection, or for a minute after later ones.
   */
  readonly ended: Promise<void>;
  /**
   * Accepts no further calls, finishes the open ones, waits until their results are stored, and disconnects. Aborts the rest after
   * `drainMs` (default 25 s). If called again, the shortest time applies.
   */
  stop(options?: { drainMs?: number }): Promise<void>;
  /** Serves `service` from now on. Calls in progress end with the code that they began with. */
  update(service: Service): void;
}

/**
 * Connects a service to a control plane by an outbound WebSocket and reconnects without limit, through a proxy if there is one.
 * Stops, without ending the process, when the key or the function set is refused: see `ended`. Throws a `TypeError` for options
 * that can never work. A call runs at most once, whatever happens to the connection, and its result is kept until the control
 * plane has stored it.
 */
export function connect(service: Service, options: ConnectOptions): Connection {
  return new Runtime(service, options);
}

/**
 * As {@link connect}, over another network than the machine's.
 * @internal
 */
export const connectOver = (openSocket: OpenSocket, service: Service, options: ConnectOptions): Connection =>
  new Runtime(service, options, openSocket);

class Runtime implements Connection {
  readonly instanceId = randomUUID();
  readonly ready: Promise<void>;
  readonly ended: Promise<void>;
  readonly #ready = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #options: ConnectOptions & { concurrency: number };
  readonly #log: Log;
  readonly #calls: Calls;
  readonly #reconnector: Reconnector;
  readonly #stopped = new AbortController();
  readonly #drainTimeout = Promise.withResolvers<void>();
  /** Connections whose control plane has not yet read that this runtime drains. */
  readonly #announced = new Set<Promise<void>>();
  readonly #traces = createTraces();
  #service: Service;
  #hello: Promise<string>;
  #phase: "serving" | "draining" | "stopped" = "serving";
  #stopping: Promise<void> | undefined;

  constructor(service: Service, options: ConnectOptions, openSocket?: OpenSocket) {
    const { concurrency = 16, reportErrors = false, log = defaultLog(), signal, url, deployment } = options;
    requireValidDeployment(deployment);
    const target = parseTarget(options);
    const proxy = proxyFor(target.address, options.proxy, readProxyVariables());
    if (proxy) log.info("connecting through a proxy", { proxy: proxy.shown, from: proxy.from });
    if (isClearText(target.address))
      log.warn("connecting without TLS: the runtime key, calls and results travel in clear text", {
        url,
        fix: "use https://",
      });
    this.#options = { ...options, concurrency };
    this.#log = log;
    this.#service = service;
    this.#hello = this.#encodeHello(service);
    this.ready = this.#ready.promise;
    this.ended = this.#ended.promise;
    // An owner who awaits neither must not get an unhandled rejection.
    for (const promise of [this.ready, this.ended]) promise.catch(() => {});

    const currentConnection = () => this.#reconnector.current;
    this.#calls = new Calls({
      service: () => this.#service,
      concurrency,
      reportErrors,
      flowKeys: checkFlowKeys(service, options.flowKeys),
      onApproval: (notice) => void this.#notify(notice),
      log,
      currentConnection,
      inSpan: this.#traces.inSpan,
    });
    this.#reconnector = new Reconnector({
      target,
      proxy,
      hello: () => this.#hello,
      runtimeId: this.instanceId,
      backoff: createBackoff(options.backoff),
      log,
      openSocket,
      events: {
        welcomed: (connection) => this.#welcomed(connection),
        frame: (connection, frame) => this.#receive(connection, frame),
        ended: (connection) => this.#connectionEnded(connection),
        suspended: () => this.#calls.giveUp(),
        refused: (error) => this.#refused(error),
      },
    });
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  get state(): Connection["state"] {
    if (this.#phase !== "serving") return this.#phase;
    return this.#reconnector.current ? "connected" : "connecting";
  }

  // Owners pass these on without the object: process.once("SIGTERM", connection.stop).
  readonly stop = ({ drainMs = 25_000 }: { drainMs?: number } = {}): Promise<void> => {
    const timer = setTimeout(this.#drainTimeout.resolve, drainMs);
    this.#stopping ??= this.#drainAndEnd();
    return this.#stopping.finally(() => clearTimer(timer));
  };

  readonly update = (service: Service): void => {
    this.#hello = this.#encodeHello(service);
    this.#service = service;
    if (this.#phase === "serving") this.#reconnector.replace();
  };

  readonly #abort = (): void => void this.stop({ drainMs: 0 });

  async #drainAndEnd(): Promise<void> {
    this.#phase = "draining";
    for (const connection of this.#options.shadow ? [] : this.#reconnector.open) this.#announceDraining(connection);
    await Promise.race([this.#drained(), this.#drainTimeout.promise]);
    await this.#end(new Error("The runtime was stopped before it was connected."));
    this.#ended.resolve();
  }

  #announceDraining(connection: ControlPlaneConnection): void {
    connection.send(JSON.stringify({ type: "draining" } satisfies RuntimeFrame));
    const trip = connection.roundTrip().finally(() => this.#announced.delete(trip));
    this.#announced.add(trip);
  }

  /**
   * Resolves when no call is open and none can arrive. A control plane may have sent a call before it read that this
   * runtime drains: the call is refused, so that another runtime gets it. Unanswered, it would count as a call that may
   * have run.
   */
  async #drained(): Promise<void> {
    await this.#calls.drain();
    while (this.#announced.size > 0) await Promise.all(this.#announced);
  }

  /** While it drains, a refused runtime can no longer deliver results. */
  #refused(error: ConnectionError): void {
    if (this.#phase === "draining") this.#drainTimeout.resolve();
    if (this.#phase !== "serving") return;
    this.#stopping = this.#end(error);
    void this.#stopping.then(() => this.#ended.reject(error));
  }

  async #end(notReady: Error): Promise<void> {
    this.#phase = "stopped";
    this.#calls.abortAll();
    this.#stopped.abort(new DOMException("the runtime stops", "AbortError"));
    this.#ready.reject(notReady);
    await this.#reconnector.end();
    this.#options.signal?.removeEventListener("abort", this.#abort);
  }

  #welcomed(connection: ControlPlaneConnection): void {
    if (this.#phase === "draining") this.#announceDraining(connection);
    this.#calls.resend(connection);
    this.#ready.resolve();
  }

  #connectionEnded(connection: ControlPlaneConnection): void {
    this.#calls.giveUp(connection);
    const { current } = this.#reconnector;
    if (current) this.#calls.resend(current);
  }

  #receive(connection: ControlPlaneConnection, frame: ControlPlaneFrame): void {
    const isReplaced = frame.type === "goingAway" && connection === this.#reconnector.current;
    if (isReplaced) this.#reconnector.replace();
    else if (!this.#options.shadow) this.#serve(connection, frame);
    else if (frame.type === "judge") void answerJudge(this.#service, frame, connection);
    else if (frame.type === "call")
      this.#log.error("a shadow runtime refused a call", { functionName: frame.function });
  }

  #serve(connection: ControlPlaneConnection, frame: ControlPlaneFrame): void {
    if (frame.type === "call") this.#calls.receive(frame, connection);
    else if (frame.type === "resultAck") this.#calls.acknowledge(frame.callId, frame.attempt);
    else if (frame.type === "cancel") this.#calls.cancel(frame.callId, frame.reason);
    else if (frame.type === "callQuery") this.#calls.query(frame, connection);
    else if (frame.type === "prepare") void answerPrepare(frame, connection, this.#answering());
    else if (frame.type === "hook") void answerHook(frame, connection, this.#answering());
  }

  #answering(): Answering {
    return { service: this.#service, log: this.#log, signal: this.#stopped.signal, inSpan: this.#traces.inSpan };
  }

  #encodeHello(service: Service): Promise<string> {
    const { instanceId } = this;
    return helloOf(service, { ...this.#options, instanceId, log: this.#log, traces: this.#traces });
  }

  async #notify(notice: ApprovalNotice): Promise<void> {
    try {
      await this.#options.onApproval?.(notice);
    } catch (error) {
      this.#log.error("onApproval failed", { approvalId: notice.approvalId, runId: notice.runId, error });
    }
  }
}
