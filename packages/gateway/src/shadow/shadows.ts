import { clearTimer, setInterval, timeoutSignal } from "@patchbay/kit/time";
import { nameDecision } from "@patchbay/access";
import { isOfService, type Manifest, type StoredCall } from "@patchbay/protocol";
import type { Candidate, Difference } from "@patchbay/engine/ports/store/shadow-store";
import type { GatewayContext } from "../context.ts";
import { serveCandidate } from "./candidate-bus.ts";
import type { ShadowConnection } from "./shadow-connection.ts";

interface ShadowsDeps extends Pick<GatewayContext, "shadows" | "store" | "within" | "bus" | "log"> {
  /** How often to read ended calls, and how long ago they ended: they are committed a little later. Default 1 s. */
  everyMs?: number;
}

const EVERY_MS = 1_000;
/** Calls in one step. One step a second bounds the cost for the candidate, the database and the network. */
const BATCH = 100;
const ANSWER_MS = 5_000;
/** Calls that ended longer ago are skipped: the candidate is slower than the traffic. */
const LONGEST_LAG_MS = 60_000;
const LEASE_MS = 10_000;

/**
 * Asks connected candidates how their checks decide ended calls, and stores the differences. It reads the calls from
 * the store, so it adds nothing to a run, and works for every replica's runs. A lease on the agent's row makes one
 * connection ask at a time.
 */
export function createShadows({ shadows, store, within, bus, log, everyMs = EVERY_MS }: ShadowsDeps) {
  const connections = new Map<ShadowConnection, Disposable>();
  const steps = new Set<Promise<void>>();
  const ended = new AbortController();

  async function step(connection: ShadowConnection): Promise<void> {
    const { candidate } = connection;
    const position = await shadows.hold(candidate, LEASE_MS);
    if (!position) return;
    if ((await shadows.skip(candidate, position, LONGEST_LAG_MS)) > 0) return;
    const page = await shadows.endedAfter(candidate, position, { limit: BATCH, settleMs: everyMs });
    if (!page.position) return;
    const signal = AbortSignal.any([ended.signal, timeoutSignal(ANSWER_MS)]);
    const found = await compare(connection, await callsOf(store, candidate, page.calls), signal);
    // A candidate that disconnected did not refuse to answer: the next one is asked about these calls again.
    if (!connection.open || ended.signal.aborted) return;
    await shadows.record(candidate, { position: page.position, ...found });
  }

  return {
    /** Compares the agent's calls with the candidate from now until its connection closes. */
    async add(connection: ShadowConnection): Promise<void> {
      const { candidate } = connection;
      await within(candidate.orgId, () => shadows.begin(candidate, LEASE_MS));
      const { agentId, service, manifestHash } = candidate;
      log.info("a candidate is compared with ended calls", { agentId, service, manifestHash });
      let isBusy = false;
      const timer = setInterval(() => {
        if (isBusy) return;
        isBusy = true;
        const running = within(candidate.orgId, () => step(connection))
          .catch((error: unknown) => log.warn("calls could not be compared with a candidate", { agentId, error }))
          .finally(() => {
            isBusy = false;
            steps.delete(running);
          });
        steps.add(running);
      }, everyMs);
      const serving = new DisposableStack();
      serving.adopt(timer, clearTimer);
      serving.use(serveCandidate(bus, connection));
      connections.set(connection, serving);
    },

    async remove(connection: ShadowConnection): Promise<void> {
      connections.get(connection)?.[Symbol.dispose]();
      if (!connections.delete(connection)) return;
      const { candidate } = connection;
      await within(candidate.orgId, () => shadows.end(candidate)).catch((error: unknown) =>
        log.warn("the end of a candidate was not stored", { agentId: candidate.agentId, error }),
      );
    },

    goingAway(): void {
      for (const connection of connections.keys()) connection.goingAway();
    },

    heartbeat(): void {
      for (const connection of connections.keys()) connection.heartbeat();
    },

    /** Resolves when no step is in progress. */
    async settled(): Promise<void> {
      await Promise.all(steps);
    },

    /** Stops every comparison. */
    [Symbol.dispose](): void {
      ended.abort();
      for (const serving of connections.values()) serving[Symbol.dispose]();
      connections.clear();
    },
  };
}
export type Shadows = ReturnType<typeof createShadows>;

async function compare(connection: ShadowConnection, calls: readonly StoredCall[], signal: AbortSignal) {
  const judged = await Promise.all(calls.map(async (call) => ({ call, now: await connection.judge(call, signal) })));
  const answered = judged.filter(({ now }) => now?.decision !== undefined);
  const differences = answered.flatMap(({ call, now }): Difference[] => {
    if (now!.decision === call.decision) return [];
    const { functionName, role, runId } = call;
    return [{ functionName, role, runId, was: nameDecision(call), is: nameDecision(now!) }];
  });
  return { judged: answered.length, unanswered: judged.length - answered.length, differences };
}

/** Calls to the candidate's service that checks decided, not limits or connections. */
async function callsOf(
  store: ShadowsDeps["store"],
  { agentId, service }: Candidate,
  calls: readonly StoredCall[],
): Promise<StoredCall[]> {
  const manifests = new Map<string, Manifest | undefined>();
  const own: StoredCall[] = [];
  for (const call of calls) {
    const hash = call.manifestHash ?? "";
    if (!manifests.has(hash)) manifests.set(hash, await store.getManifest(agentId, hash));
    const manifest = manifests.get(hash);
    if (call.decision !== undefined && (!manifest || isOfService(service, manifest, call.functionName))) own.push(call);
  }
  return own;
}
