import { randomUUID } from "@patchbay/kit/time";
import { present } from "@patchbay/kit";
import { VERSION } from "@patchbay/protocol";
import { createApprovals } from "@patchbay/engine/run/approvals";
import { flowReplay } from "@patchbay/engine/run/calls/replay";
import { cutShort, excesses } from "@patchbay/engine/run/function-limits";
import { createRuns } from "@patchbay/engine/run/runs";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { createFunctionGateway } from "@patchbay/gateway/gateway";
import { createModelCatalog, withOwnModel, wrappedModels } from "@patchbay/models/catalog";
import { createOfflineProvider } from "@patchbay/models/offline";
import { createAuthenticator } from "@patchbay/server/accounts/authenticator";
import { tierNamed } from "@patchbay/server/accounts/limits";
import { createMetrics } from "./metrics.ts";
import type { ControlPlaneOptions, Settings } from "./options.ts";
import type { Resources } from "./resources.ts";

export type Core = ReturnType<typeof createCore>;

/** The gateway, the models and the runs: a replica without its HTTP server. */
export function createCore(
  settings: Settings,
  { store, bus, clock, files, onlyReplica, tracing }: Resources,
  { ofProcess = true } = {},
) {
  const { limits, log, tiers, runTimeoutMs, observe, heartbeatMs, reconnectMs, arrivalMs, providerIdleMs } = settings;
  const { runtimes, threads, accounts, approvals, audit, permits } = store;
  const within: Store["within"] = (orgId, work) => store.within(orgId, work);
  const database = onlyReplica ? "sqlite" : "postgres";
  const metrics = createMetrics({ ofProcess, health: { version: VERSION, database, store, bus, files } });
  const replicaId = randomUUID();
  const authenticate = createAuthenticator({ accounts, clock, log });
  const models = catalogOf(settings);
  const gateway = createFunctionGateway({
    store: runtimes,
    calls: store.calls,
    shadows: store.shadows,
    validCredentials: (ids) => accounts.validCredentials(ids),
    async authenticate(secret) {
      const credential = await authenticate("runtime", secret);
      return credential && { keyId: credential.credentialId, ...credential };
    },
    within,
    bus,
    replicaId,
    limits,
    clock,
    log,
    metrics,
    replay: (agentId, manifest) => flowReplay(store, agentId, manifest),
    advise: async (agentId, services) => [
      ...excesses(services, models, await accounts.getAgent(agentId)),
      ...services.slice(0, 1).flatMap((own) => cutShort(own, runTimeoutMs)),
    ],
    ...present({ heartbeatMs, reconnectMs, arrivalMs }),
  });
  const charged = (tier: string): boolean => tierNamed(tiers, tier).charged;
  const stores = { runs: store.runs, runtimes, threads, accounts, approvals, audit, permits, within };
  const deps = {
    ...stores,
    ...present({ providerIdleMs }),
    ...(tracing && { tracing }),
    gateway,
    models,
    clock,
    log,
    metrics,
    observe,
    charged,
    runTimeoutMs,
    limits,
  };
  const runs = createRuns({ owner: replicaId, bus }, deps);
  const decisions = createApprovals({ ...stores, bus });
  return { replicaId, metrics, authenticate, within, gateway, models, runs, approvals: decisions };
}

/** The models that queries may name: the program's own model first, each wrapped by `wrapModel`. */
function catalogOf({ providers = {}, model, wrapModel }: ControlPlaneOptions) {
  const { offline = false, ...accounts } = providers;
  // A program with its own model never needs the offline one.
  const configured = model
    ? withOwnModel(createModelCatalog(accounts), model)
    : createModelCatalog({ ...accounts, ...(offline && { offline: createOfflineProvider() }) });
  return wrapModel ? wrappedModels(configured, wrapModel) : configured;
}
