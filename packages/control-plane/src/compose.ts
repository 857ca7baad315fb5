import { randomUUID } from "node:crypto";
import { DEFAULT_LIMITS, type OperatorLimits } from "@patchbay/protocol";
import { createAccessWatch } from "./access-watch.ts";
import { createAdmin, type Admin } from "./accounts/admin.ts";
import { createAuthenticator } from "./accounts/authenticate.ts";
import { createRateLimiter } from "./accounts/rate-limit.ts";
import { DEFAULT_TIERS, tierNamed, type Tiers } from "./accounts/tiers.ts";
import { mountConsole } from "./console/app.ts";
import { createFunctionGateway } from "./gateway/gateway.ts";
import { createHttpApp } from "./http/app.ts";
import { serveMetrics } from "./http/metrics-server.ts";
import { createOpenStreams } from "./http/open-streams.ts";
import { createHttpServer } from "./http/server.ts";
import { createFairQueue } from "./http/fair-queue.ts";
import { ServiceError } from "./ports/service-error.ts";
import { openGround } from "./ground.ts";
import { createLog } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { createModelCatalog, type ProviderConfig } from "./models/catalog.ts";
import { createOfflineProvider } from "./models/offline/provider.ts";
import { withOwnModel } from "./models/own-model.ts";
import { wrappedModels } from "./models/wrapped-models.ts";
import type { HttpDeps } from "./http/deps.ts";
import type { Log } from "./ports/log.ts";
import type { ModelCatalog, ModelProvider } from "./ports/model-provider.ts";
import type { Store } from "./ports/stores.ts";
import { createFeed } from "./run/feed.ts";
import type { Observer } from "./run/observer.ts";
import { createRuns } from "./run/runs.ts";
import { startSweeping } from "./sweeping.ts";

/** What {@link createControlPlane} takes; the database alone is required. */
export interface ControlPlaneOptions {
  /** `sqlite:PATH` or `sqlite::memory:`, which one process serves at a time, or `postgres://...`, which several may serve. */
  database: string;
  /** The NATS server by which replicas on one Postgres database reach each other. Without it this is the only replica. */
  nats?: string;
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 8787; 0 picks a free one. */
  port?: number;
  providers?: ProviderSettings;
  /** A model of your own (a test's script, say), used for every query that names no provider. */
  model?: ModelProvider;
  /** Put around whichever provider answers: a recorder, say. */
  wrapModel?: (provider: ModelProvider) => ModelProvider;
  /** Serve the local development variant (endpoint 3). Default false. */
  local?: boolean;
  /** Time a run has, waiting included. Default 240,000. */
  runTimeoutMs?: number;
  /** How long a model provider may send no byte before its answer is given up. Default 60,000. */
  providerIdleMs?: number;
  /** Time between two pings on a link to a runtime; two silent ones end it. Default 5,000. */
  heartbeatMs?: number;
  /** How long a runtime whose link was lost in mid-call is waited for. Default: 2,500 and two heartbeats. */
  reconnectMs?: number;
  /** How long a query waits for a runtime that was seen in the last minute. Default 15,000. */
  arrivalMs?: number;
  /** Origins whose pages may call the service. Default none. */
  corsOrigins?: readonly string[];
  publicUrl?: string;
  trustProxy?: boolean;
  /** What ended longer ago is deleted. Default 30. */
  retentionDays?: number;
  /** Older entries of the audit log are deleted. Default 365. */
  auditDays?: number;
  /** Older usage and movements of credits are kept as sums of a day. Default 90. */
  usageDays?: number;
  tiers?: Tiers;
  /** Limits of the operator; those that are left out keep their defaults. */
  limits?: Partial<OperatorLimits>;
  /** Port of the metrics, on the same host; 0 picks a free one. The public port then refuses them. Default: the public port. */
  metricsPort?: number;
  /** Bearer token that `GET /metrics` asks for. Default: none. */
  metricsToken?: string;
  /** Serve the console and its interface. Default true. */
  console?: boolean;
  /** Folder of the built console. Default: the one in this package, where it was built. */
  consoleFiles?: string;
  /** Default: JSON lines on stderr. */
  log?: Log;
  /** Called for each query, call and end: for a live view. */
  onQueryEvent?: Observer;
}

/** Keys and addresses of the model providers. `offline` lets the built-in offline model serve where nothing else is the default. */
export type ProviderSettings = Omit<ProviderConfig, "offline"> & { offline?: boolean };

/** A running control plane. Whoever created it closes it. */
export interface ControlPlane {
  /** Base address, for example `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly port: number;
  /** Address of the metrics. */
  readonly metricsUrl: string;
  readonly admin: Admin;
  readonly store: Store;
  /** Name of the default provider, `none` when there is none. */
  readonly provider: string;
  connectedRuntimes(agentId: string): number;
  /**
   * Drains: refuses new queries, gives running ones `graceMs` (default 20,000), leaves the rest to the next start,
   * or to another replica: then the last 2.5 s of `graceMs` are for showing its progress to those who follow.
   */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** Lists and details at a time: an embedded database has one thread for them, and the process one for their answers. */
const READS = { atOnce: 6, embedded: 2, waiting: 10_000 };
const FAREWELL_MS = 2_000;
/** Streams whose key was revoked, or whose session is over, end within this time and what the store takes to say so. */
const ACCESS_CHECK_MS = 2_000;
const FOLLOW_MS = 2_500;
/**
 * A bus that is not there at the start is waited for so long before this replica counts as ready: a loss of the bus takes
 * nothing away that a replica does alone, whether it comes before the start or after.
 */
const BUS_PATIENCE_MS = 30_000;

/** Starts a control plane and listens. Throws when the database is in use or cannot be opened, or when the port is taken. */
export async function createControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const {
    database,
    host = "127.0.0.1",
    port = 8787,
    local = false,
    retentionDays = 30,
    auditDays = 365,
    usageDays = 90,
    tiers = DEFAULT_TIERS,
  } = options;
  const { runTimeoutMs = 240_000, corsOrigins = [], trustProxy = false, onQueryEvent: observe = () => {} } = options;
  const limits: OperatorLimits = { ...DEFAULT_LIMITS, ...options.limits };
  const log = options.log ?? createLog();
  const owner = randomUUID();
  const startedAt = performance.now();

  await using opening = new AsyncDisposableStack();
  const ground = opening.use(await openGround({ database, nats: options.nats, log }));
  const { store, bus, clock } = ground;
  const metrics = createMetrics();
  const authenticate = createAuthenticator({ accounts: store.accounts, clock, log });
  const within: Store["within"] = (orgId, work) => store.within(orgId, work);
  const gateway = createFunctionGateway({
    store: store.runtimes,
    calls: store.calls,
    within,
    bus,
    validCredentials: (ids) => store.accounts.validCredentials(ids),
    async authenticate(secret) {
      const credential = await authenticate("runtime", secret);
      return credential && { keyId: credential.credentialId, ...credential };
    },
    replicaId: owner,
    limits,
    clock,
    log,
    metrics,
    ...(options.heartbeatMs !== undefined && { heartbeatMs: options.heartbeatMs }),
    ...(options.reconnectMs !== undefined && { reconnectMs: options.reconnectMs }),
    ...(options.arrivalMs !== undefined && { arrivalMs: options.arrivalMs }),
  });
  opening.defer(() => gateway.close());
  const models = catalogOf(options);
  const { runs: runStore, runtimes, threads, accounts, audit } = store;
  const charged = (tier: string): boolean => tierNamed(tiers, tier).charged;
  const stores = { runs: runStore, runtimes, threads, accounts, audit, within };
  const runs = createRuns(
    { owner, bus },
    {
      ...stores,
      gateway,
      models,
      feed: createFeed(bus),
      clock,
      log,
      metrics,
      observe,
      charged,
      runTimeoutMs,
      limits,
      ...(options.providerIdleMs !== undefined && { providerIdleMs: options.providerIdleMs }),
    },
  );

  const access = opening.use(
    createAccessWatch({
      valid: {
        credential: (ids) => accounts.validCredentials(ids),
        session: (ids) => store.console.signIn.validSessions(ids),
      },
      everyMs: ACCESS_CHECK_MS,
      log,
    }),
  );
  const draining = new AbortController();
  const limiter = ground.alone
    ? createRateLimiter(tiers)
    : createRateLimiter(tiers, (orgId) => accounts.countQuery(orgId));
  const httpDeps: HttpDeps = {
    runs,
    threads,
    authenticate,
    within,
    rateLimit: (orgId, tier) => limiter.take(orgId, tier),
    ready: async () =>
      !draining.signal.aborted &&
      (bus.reached || performance.now() - startedAt > BUS_PATIENCE_MS) &&
      (await store.ping().then(
        () => true,
        () => false,
      )),
    streams: createOpenStreams({ limits, access, metrics }),
    metrics,
    log,
    clock,
    version: "0.1.0",
    limits,
    reads: createFairQueue({ ...READS, atOnce: ground.alone ? READS.embedded : READS.atOnce, busy: tooManyReads }),
    corsOrigins,
    local,
    host,
    trustProxy,
    maxStreamAgeMs: runTimeoutMs + 30_000,
    metricsApart: options.metricsPort !== undefined,
    ...(options.metricsToken !== undefined && { metricsToken: options.metricsToken }),
    ...(options.publicUrl !== undefined && { publicUrl: options.publicUrl }),
  };
  const adminOf = (by?: string) =>
    createAdmin({ store, tiers, prices: options.providers?.prices, ...(by !== undefined && { by }) });
  const admin = adminOf();
  const app = createHttpApp(httpDeps);
  if (options.console ?? true)
    mountConsole(app, {
      ...httpDeps,
      store,
      gateway,
      models,
      tiers,
      access,
      closing: draining.signal,
      retentionDays,
      auditDays,
      usageDays,
      adminOf,
      ...(options.consoleFiles !== undefined && { consoleFiles: options.consoleFiles }),
    });
  const server = createHttpServer({ app, upgrade: gateway.handleUpgrade, log });
  const { metricsPort } = options;
  const metricsServer =
    metricsPort === undefined ? undefined : await serveMetrics(httpDeps, { host, port: metricsPort });
  if (metricsServer) opening.use(metricsServer);
  const { port: boundPort } = await server.listen({ host, port });
  await runs.open();
  opening.use(startSweeping((options) => store.sweep({ days: retentionDays, auditDays, usageDays }, options), log));

  const opened = opening.move();
  let closing: Promise<void> | undefined;
  async function close(graceMs: number): Promise<void> {
    draining.abort();
    gateway.goingAway();
    // Where nobody else can go on with what is handed over there is nothing to follow.
    const followMs = ground.alone ? 0 : FOLLOW_MS;
    // Clients are told to come back once the runs are handed over, and must be given the time to hear it.
    const closed = server.close({ graceMs: graceMs + FAREWELL_MS });
    await runs.drain(Math.max(0, graceMs - followMs), Math.min(graceMs, followMs));
    await gateway.close();
    await closed;
    await opened.disposeAsync();
  }
  const defaultModel = models.choose();
  const urlOf = (at: number) => `http://${host.includes(":") ? `[${host}]` : host}:${at}`;
  return {
    url: urlOf(boundPort),
    port: boundPort,
    metricsUrl: `${urlOf(metricsServer?.port ?? boundPort)}/metrics`,
    admin,
    store,
    provider: "missing" in defaultModel ? "none" : defaultModel.provider.name,
    connectedRuntimes: (agentId) => gateway.connectionCount(agentId),
    close: ({ graceMs = 20_000 } = {}) => (closing ??= close(graceMs)),
  };
}

/** The models that queries may name, the program's own first, with whatever is put around them. */
function catalogOf({ providers = {}, model, wrapModel }: ControlPlaneOptions): ModelCatalog {
  const { offline = false, ...accounts } = providers;
  // A program with a model of its own has no use for the offline one.
  const configured = model
    ? withOwnModel(createModelCatalog(accounts), model)
    : createModelCatalog({ ...accounts, ...(offline && { offline: createOfflineProvider() }) });
  return wrapModel ? wrappedModels(configured, wrapModel) : configured;
}

const tooManyReads = (): ServiceError =>
  new ServiceError("unavailable", "Too many lists and details are waiting to be read. Try again in a moment.");
