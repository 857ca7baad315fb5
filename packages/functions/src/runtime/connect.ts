import { randomUUID } from "node:crypto";
import { isClearText, LIMITS, LINK_VERSION, type PlaneFrame, type RuntimeFrame } from "@patchbay/protocol";
import { createLog, createReference, type Log } from "../log.ts";
import type { Service } from "../service.ts";
import { createBackoff, type BackoffOptions } from "./backoff.ts";
import { createCalls } from "./calls.ts";
import { encodeFrame } from "./frames.ts";
import { keepLinked } from "./keep-linked.ts";
import type { Link } from "./link.ts";
import { parseTarget } from "./target.ts";

/** Where a runtime connects, as which agent, and how much it takes on. */
export interface ConnectOptions {
  /** Base address of the control plane: `https://host`, or `ws://127.0.0.1:8787`. */
  url: string;
  /** The agent's runtime key. It alone decides the agent. */
  key: string;
  /** When given, a key of another agent is refused instead of serving the wrong one. */
  agentId?: string;
  /**
   * Names what this process runs: a release id or a git commit, 1 to 100 characters. Of a service's function sets that of the
   * newest deployment serves, and a deployment is as old as its first connection, so that a restarted process of an older one
   * stays old. Without a name each process is a deployment of its own.
   */
  deployment?: string;
  /** Calls that run side by side; more wait their turn. Default 16. */
  concurrency?: number;
  /** Default: JSON lines on standard error. */
  log?: Log;
  /** Stops the runtime at once when aborted, without draining. */
  signal?: AbortSignal;
  /** Waits between attempts to connect: by default up to 0.1 s first, then random ones up to 2.5 s for five minutes, then up to 30 s. */
  backoff?: BackoffOptions;
}

/** A connected (or connecting) runtime. */
export interface Connection {
  /** Names this process to control planes; new for each `connect`. */
  readonly instanceId: string;
  readonly state: "connecting" | "connected" | "draining" | "stopped";
  /** Resolves when a control plane first welcomed the functions; rejects only when stopped before that. */
  readonly ready: Promise<void>;
  /**
   * Takes no further calls, finishes those it holds, waits until their results are stored, and disconnects; what is not done
   * after `drainMs` (default 25 s) is aborted. Called again, the shortest time counts.
   */
  stop(options?: { drainMs?: number }): Promise<void>;
  /** Serves `service` from now on. Calls in progress end with the code they began with. */
  update(service: Service): void;
}

/**
 * Connects a service to a control plane by an outbound WebSocket and keeps it connected for ever. A refused key is logged and
 * tried again. Throws a `TypeError` for options that can never work. A call is run at most once, whatever happens to the link;
 * results are kept until the control plane has stored them.
 */
export function connect(service: Service, options: ConnectOptions): Connection {
  const { concurrency = 16, log = createLog(), signal } = options;
  const deployment = checkDeployment(options.deployment);
  const target = parseTarget(options);
  if (isClearText(target.address))
    log.warn("connecting without TLS: the runtime key, calls and results travel in clear text", {
      url: options.url,
      fix: "use https://",
    });
  const instanceId = randomUUID();
  let hello = helloFrame(service, { instanceId, concurrency, deployment });
  let phase: "serving" | "draining" | "stopped" = "serving";
  let stopping: Promise<void> | undefined;
  const stopped = new AbortController();
  const timeIsUp = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {}); // whoever does not wait for it must not crash by it

  const calls = createCalls({ service: () => service, concurrency, log, currentLink: () => keeper.current });
  const keeper = keepLinked({
    target,
    hello: () => hello,
    backoff: createBackoff(options.backoff),
    log,
    events: { welcomed, frame: receive, ended },
  });

  function welcomed(link: Link): void {
    if (phase === "draining") link.send(DRAINING);
    calls.resend(link);
    ready.resolve();
  }

  function ended(): void {
    if (keeper.current) calls.resend(keeper.current);
  }

  function receive(link: Link, frame: PlaneFrame): void {
    if (frame.type === "call") calls.receive(frame, link);
    else if (frame.type === "resultAck") calls.acknowledge(frame.callId);
    else if (frame.type === "cancel") calls.cancel(frame.callId, frame.reason);
    else if (frame.type === "callQuery") calls.query(frame, link);
    else if (frame.type === "prepare") void prepare(frame, link);
    else if (frame.type === "hook") void runHook(frame, link);
    else if (frame.type === "goingAway" && link === keeper.current) keeper.replace();
  }

  async function prepare({ id, role, context }: Extract<PlaneFrame, { type: "prepare" }>, link: Link): Promise<void> {
    const query = role === undefined ? { context } : { role, context };
    const prepared = await service.prepare(query, { log }).catch((error: unknown) => {
      log.error("the context could not be prepared", { error });
      return { ok: false as const, faults: [{ path: "contextJson", message: "could not be checked" }] };
    });
    const text = encodeFrame({ type: "prepared", id, prepared });
    if (text === undefined) log.error("what the service tells of the context does not fit a frame");
    else link.send(text);
  }

  async function runHook({ id, call, timeoutMs }: Extract<PlaneFrame, { type: "hook" }>, link: Link): Promise<void> {
    const result = await service.runHook(call, { signal: stopped.signal, timeoutMs, log }).catch((error: unknown) => {
      const reference = createReference();
      log.error("a hook broke outside its function", { hook: call.hook, reference, error });
      return { verdict: "failed" as const, reference };
    });
    link.send(JSON.stringify({ type: "hookResult", id, result } satisfies RuntimeFrame));
  }

  async function drainAndEnd(): Promise<void> {
    phase = "draining";
    for (const link of keeper.open) link.send(DRAINING);
    await Promise.race([calls.drain(), timeIsUp.promise]);
    phase = "stopped";
    calls.abortAll();
    stopped.abort(new DOMException("the runtime stops", "AbortError"));
    ready.reject(new Error("The runtime was stopped before it was connected."));
    await keeper.end();
    signal?.removeEventListener("abort", stopAtOnce);
  }

  function stop({ drainMs = 25_000 }: { drainMs?: number } = {}): Promise<void> {
    const timer = setTimeout(timeIsUp.resolve, drainMs);
    stopping ??= drainAndEnd();
    return stopping.finally(() => clearTimeout(timer));
  }

  function stopAtOnce(): void {
    void stop({ drainMs: 0 });
  }

  if (signal?.aborted) stopAtOnce();
  else signal?.addEventListener("abort", stopAtOnce, { once: true });

  return {
    instanceId,
    ready: ready.promise,
    get state() {
      if (phase !== "serving") return phase;
      return keeper.current ? "connected" : "connecting";
    },
    stop,
    update(next) {
      hello = helloFrame(next, { instanceId, concurrency, deployment });
      service = next;
      if (phase === "serving") keeper.replace();
    },
  };
}

const DRAINING = JSON.stringify({ type: "draining" } satisfies RuntimeFrame);

function checkDeployment(name: string | undefined): string | undefined {
  if (name === undefined || (name.length > 0 && name.length <= LIMITS.deploymentUnits)) return name;
  throw new TypeError(
    `connect: the deployment has ${name.length} characters; give a name of 1 to ${LIMITS.deploymentUnits}, such as a release id or a git commit`,
  );
}

function helloFrame(
  { manifest }: Service,
  { instanceId, concurrency, deployment }: { instanceId: string; concurrency: number; deployment: string | undefined },
): string {
  const text = encodeFrame({
    type: "hello",
    version: LINK_VERSION,
    instanceId,
    manifest,
    ...(deployment !== undefined && { deployment }),
    concurrency,
    sdk: "patchbay-functions/0.1.0",
  });
  if (text !== undefined) return text;
  throw new TypeError(
    `connect: the function set is larger than ${LIMITS.frameBytes} bytes; shorten schemas or descriptions`,
  );
}
