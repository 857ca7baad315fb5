import { randomUUID } from "node:crypto";
import { LINK_CLOSE, type OperatorLimits } from "@patchbay/protocol";
import type { WebSocket } from "ws";
import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { RuntimeStore, Store } from "../ports/stores.ts";
import { parseRuntimeFrame } from "./frames.ts";
import type { Joining } from "./joining.ts";
import { closeSocket, type LinkIdentity } from "./link.ts";
import { hashManifest, manifestFault } from "./manifest.ts";
import type { RuntimeKey } from "./upgrade.ts";

/** WebSocket's "try again later": the store is out of reach. */
const TRY_AGAIN = 1013;

/**
 * Waits for a runtime's hello and stores its function set. Undefined when the socket was closed instead: with a reason, unless
 * it went by itself.
 */
export async function greet(
  socket: WebSocket,
  key: RuntimeKey,
  deps: {
    store: RuntimeStore;
    join: Joining["join"];
    within: Store["within"];
    replicaId: string;
    helloMs: number;
    limits: OperatorLimits;
    log: Log;
    metrics: Pick<Metrics, "runtimeRefused">;
  },
): Promise<LinkIdentity | undefined> {
  const { store, join, within, replicaId, helloMs, limits, log, metrics } = deps;
  const refuse = (fault: keyof typeof LINK_CLOSE, reason: string): undefined => {
    metrics.runtimeRefused(fault);
    // Two services that exclude each other stay a mistake until somebody moves a function.
    const level = fault === "serviceConflict" ? "error" : "warn";
    log[level]("refused a runtime", { agentId: key.agentId, fault, reason });
    closeSocket(socket, LINK_CLOSE[fault], reason);
  };
  const first = await firstMessage(socket, helloMs);
  if (first === "closed") return undefined;
  if (first === "late") return refuse("helloTimeout", `no hello within ${helloMs} ms`);
  const parsed = parseRuntimeFrame(first);
  if (!parsed.ok) return refuse(parsed.fault, parsed.message);
  if (parsed.frame.type !== "hello") return refuse("badFrame", "the first frame must be hello");

  const { instanceId, deployment, manifest, concurrency, sdk } = parsed.frame;
  const fault = manifestFault(manifest, limits);
  if (fault !== undefined) return refuse("manifestRefused", fault);
  const { keyId, agentId, orgId } = key;
  const manifestHash = hashManifest(manifest);
  const offered = { service: manifest.name, ...(deployment !== undefined && { deployment }), manifestHash };
  const identity = { connectionId: randomUUID(), agentId, instanceId, ...offered, concurrency };
  let conflict: string | undefined;
  try {
    await within(orgId, async () => {
      conflict = await join(identity, manifest, keyId);
      if (conflict === undefined) await store.linkOpened({ ...identity, replicaId, draining: false, sdk });
      await store.trimManifests(agentId, limits.functionSetsPerAgent);
    });
  } catch (error) {
    log.error("a function set could not be stored", { agentId, error });
    closeSocket(socket, TRY_AGAIN, "the function set could not be stored; try again");
    return undefined;
  }
  if (conflict !== undefined) return refuse("serviceConflict", conflict);
  if (socket.readyState === socket.OPEN) return { ...identity, keyId, orgId, manifest };
  await store.linkClosed(identity.connectionId);
  return undefined;
}

function firstMessage(socket: WebSocket, limitMs: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve("late"), limitMs);
  socket.once("message", (data, isBinary) => resolve(isBinary ? "" : (data as Buffer).toString()));
  socket.once("close", () => resolve("closed"));
  return promise.finally(() => clearTimeout(timer));
}
