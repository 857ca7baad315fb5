import { clearTimer, randomUUID, setTimeout } from "@patchbay/kit/time";
import type { Duplex } from "node:stream";
import { CLOSE_CODES, type ControlPlaneFrame, type Manifest } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { WebSocket } from "ws";
import type { RuntimeRefusal } from "@patchbay/engine/ports/metrics";
import { ownTurn } from "@patchbay/engine/ports/own-turn";
import type { DeployedSet, RuntimeStore, SetIdentity } from "@patchbay/engine/ports/store/stores";
import { type ConnectionIdentity, isSameSet, setOf } from "../channel.ts";
import type { GatewayContext } from "../context.ts";
import { closeSocket, type FrameOf, parseRuntimeFrame } from "../frames.ts";
import { type ConnectionEvents, readFrames } from "../local/frame-reader.ts";
import { type LocalConnectionIdentity, RuntimeConnection } from "../local/runtime-connection.ts";
import { createShadowConnection } from "../shadow/shadow-connection.ts";
import type { Shadows } from "../shadow/shadows.ts";
import type { Directory } from "../peers/directory.ts";
import { hashManifest } from "../routing/manifest-hash.ts";
import type { ServingSets } from "../routing/serving-sets.ts";
import type { SetOrders } from "../routing/set-order.ts";
import { createCompatibleServices, manifestFault } from "./manifest-limits.ts";
import { type RuntimeKey, senderOf } from "./runtime-keys.ts";

/** WebSocket's "try again later". */
const TRY_AGAIN = 1013;
/** Widenings in one log line. */
const LOGGED_WIDENINGS = 20;

export interface HandshakeDeps extends Pick<
  GatewayContext,
  "store" | "within" | "replicaId" | "limits" | "log" | "metrics" | "advise" | "replay"
> {
  directory: Directory;
  orders: Pick<SetOrders, "expire">;
  serving: ServingSets;
  heartbeatMs: number;
  helloMs: number;
  events: ConnectionEvents;
  shadows: Pick<Shadows, "add" | "remove">;
}

/**
 * Reads a new socket's hello, registers its function set and connection, welcomes the runtime and reads its frames from
 * then on.
 */
export async function acceptRuntime(
  socket: WebSocket,
  transport: Duplex,
  key: RuntimeKey,
  deps: HandshakeDeps,
): Promise<void> {
  const { heartbeatMs, limits, events } = deps;
  const refuse: Refuse = (fault, reason) => {
    deps.metrics.runtimeRefused(fault);
    // Two services that exclude each other need a change by a person, so this is an error and not a warning.
    const level = fault === "serviceConflict" ? "error" : "warn";
    deps.log[level]("refused a runtime", { ...senderOf(key), fault, reason });
    closeSocket(socket, CLOSE_CODES[fault], reason);
  };
  const hello = await readHello(socket, deps, refuse);
  if (hello?.type === "shadow") return acceptShadow(socket, key, hello, deps);
  // A runtime must connect also without them. Before the registration, from which on a closed socket has a listener.
  const warnings = hello ? await warningsFor(key.agentId, hello.manifest, deps).catch(() => []) : [];
  const identity = hello && (await register(socket, key, hello, deps, refuse));
  if (!identity) return;
  const connection = new RuntimeConnection(identity, socket, transport);
  readFrames(connection, socket, deps);
  const { connectionId, agentId } = identity;
  const { framesPerSecond } = limits;
  const more = warnings.length > 0 ? { framesPerSecond, warnings } : { framesPerSecond };
  connection.send({ type: "welcome", connectionId, agentId, heartbeatMs, ...more });
  events.welcomed(connection);
}

/** A candidate is stored nowhere among runtimes and function sets, so nothing can choose it for a query or a call. */
async function acceptShadow(
  socket: WebSocket,
  { agentId, orgId }: RuntimeKey,
  { manifest }: FrameOf<"shadow">,
  { shadows, heartbeatMs, log, replay }: HandshakeDeps,
): Promise<void> {
  const connectionId = randomUUID();
  const candidate = { agentId, orgId, connectionId, service: manifest.name, manifestHash: hashManifest(manifest) };
  const connection = createShadowConnection(socket, candidate, manifest, replay?.(agentId, manifest));
  socket.on("close", () => void shadows.remove(connection));
  try {
    await shadows.add(connection);
  } catch (error) {
    log.error("a candidate could not be stored", { agentId, error });
    return closeSocket(socket, TRY_AGAIN, "the candidate could not be stored; try again");
  }
  if (socket.readyState !== socket.OPEN) return shadows.remove(connection);
  socket.send(JSON.stringify({ type: "welcome", connectionId, agentId, heartbeatMs } satisfies ControlPlaneFrame));
}

type Refuse = (fault: RuntimeRefusal & keyof typeof CLOSE_CODES, reason: string) => undefined;

/** Undefined when the socket closed or was refused. */
async function readHello(
  socket: WebSocket,
  { helloMs, limits }: HandshakeDeps,
  refuse: Refuse,
): Promise<FrameOf<"hello" | "shadow"> | undefined> {
  const first = await firstMessage(socket, helloMs);
  if (first === "closed") return undefined;
  if (first === "late") return refuse("helloTimeout", `no hello within ${helloMs} ms`);
  // The largest hello takes 60 ms to parse, and then to check, hash and compare: other clients are served in between.
  await ownTurn();
  const parsed = parseRuntimeFrame(first.text);
  if (!parsed.ok) return refuse(parsed.fault, parsed.message);
  if (parsed.frame.type !== "hello" && parsed.frame.type !== "shadow")
    return refuse("badFrame", "the first frame must be hello");
  await ownTurn();
  const fault = manifestFault(parsed.frame.manifest, limits);
  await ownTurn();
  return fault === undefined ? parsed.frame : refuse("manifestRefused", fault);
}

function firstMessage(socket: WebSocket, limitMs: number): Promise<{ text: string } | "late" | "closed"> {
  const { promise, resolve } = Promise.withResolvers<{ text: string } | "late" | "closed">();
  const timer = setTimeout(() => resolve("late"), limitMs);
  socket.once("message", (data, isBinary) => resolve({ text: isBinary ? "" : (data as Buffer).toString() }));
  socket.once("close", () => resolve("closed"));
  return promise.finally(() => clearTimer(timer));
}

/** Stores the function set and the connection. Undefined when the socket closed or was refused. */
async function register(
  socket: WebSocket,
  { keyId, agentId, orgId }: RuntimeKey,
  hello: FrameOf<"hello">,
  deps: HandshakeDeps,
  refuse: Refuse,
): Promise<LocalConnectionIdentity | undefined> {
  const { store, within, replicaId, limits, log } = deps;
  const { instanceId, deployment, manifest, concurrency, sdk, host } = hello;
  const offered = { service: manifest.name, ...present({ deployment }), manifestHash: hashManifest(manifest) };
  const identity = { connectionId: randomUUID(), agentId, instanceId, ...offered, concurrency };
  let conflict: string | undefined;
  try {
    await within(orgId, async () => {
      conflict = await registerSet(identity, hello, keyId, deps);
      if (conflict === undefined)
        await store.connectionOpened({ ...identity, replicaId, draining: false, sdk, ...present({ host }) });
      await store.trimManifests(agentId, limits.functionSetsPerAgent);
    });
  } catch (error) {
    log.error("function set could not be stored", { agentId, error });
    closeSocket(socket, TRY_AGAIN, "the function set could not be stored; try again");
    return undefined;
  }
  if (conflict !== undefined) return refuse("serviceConflict", conflict);
  if (socket.readyState === socket.OPEN) return { ...identity, keyId, orgId, manifest };
  // The socket closed during the write. Its close event had no listener yet, so the row is removed here.
  await store.connectionClosed(identity.connectionId);
  return undefined;
}

/**
 * Adds a hello's function set to its service's order. If it conflicts with other connected services' sets, returns why
 * it is refused.
 */
async function registerSet(
  identity: ConnectionIdentity,
  { manifest, cases, lock }: Pick<FrameOf<"hello">, "manifest" | "cases" | "lock">,
  keyId: string,
  deps: HandshakeDeps,
): Promise<string | undefined> {
  const { store, orders, limits } = deps;
  const { agentId, service, manifestHash } = identity;
  const set = setOf(identity);
  const others = await otherServices(agentId, service, deps);
  const reason = createCompatibleServices(limits, others).add({ service, manifest, manifestHash });
  if (reason !== undefined && !(await isReplaced(agentId, set, store))) return reason;
  await store.saveManifest(agentId, set.manifestHash, manifest, present({ cases, lock }));
  const noted = await store.noteSet(agentId, set, manifest, { keyId });
  if (!noted.fresh) return undefined;
  if (noted.widenings.length > 0) warnOfWidenings(agentId, noted, deps);
  orders.expire(agentId);
  return undefined;
}

/** The sets of an agent's other connected services for new runs. */
async function otherServices(agentId: string, service: string, { directory, serving }: HandshakeDeps) {
  await directory.refreshIfStale(agentId);
  const others = directory.channels(agentId).filter((one) => one.available && one.identity.service !== service);
  return (await serving.of(agentId, others)).served;
}

async function warningsFor(agentId: string, manifest: Manifest, deps: HandshakeDeps): Promise<string[]> {
  const others = await otherServices(agentId, manifest.name, deps);
  return (await deps.advise?.(agentId, [manifest, ...others.map((one) => one.manifest)])) ?? [];
}

/** True for an older set that connects again. New runs do not use it, but runs that began on it need it. */
async function isReplaced(agentId: string, set: SetIdentity, store: RuntimeStore): Promise<boolean> {
  const sets = (await store.functionSets(agentId)).filter(({ service }) => service === set.service);
  const at = sets.findIndex((one) => isSameSet(one, set));
  return at >= 0 && sets.slice(at + 1).some(({ confirmation }) => confirmation !== "pending");
}

function warnOfWidenings(
  agentId: string,
  { widenings, confirmation, ...set }: Omit<DeployedSet, "position">,
  { log, metrics }: HandshakeDeps,
): void {
  metrics.accessWidened();
  const { service, deployment, manifestHash, replaces } = set;
  const texts = widenings.slice(0, LOGGED_WIDENINGS).map(({ text }) => text);
  const about = { service, deployment, agentId, manifestHash, replaces, confirmation };
  // What it allows comes first: a person reads no further than that.
  log.warn("a function set widens access", { widenings: texts, count: widenings.length, ...about });
}
