import { monotonicMs } from "@patchbay/kit/time";
import type { HttpDeps } from "@patchbay/server/query/deps";
import { createHandlers, type Handlers } from "@patchbay/server/kernel/handlers";
import { createHttpServer } from "@patchbay/server/kernel/server";
import { createOpenStreams } from "@patchbay/server/query/open-streams";
import { createFairQueue } from "@patchbay/engine/ports/fair-queue";
import { createHttpApp, serveMetrics } from "@patchbay/server/query/app";
import { refuseForeignHosts } from "@patchbay/server/query/origins";
import { present } from "@patchbay/kit";
import { VERSION } from "@patchbay/protocol";
import type { AccessWatch } from "@patchbay/engine/ports/access-watch";
import { createAdmin, type Admin } from "@patchbay/server/accounts/admin";
import { createClientTokens } from "@patchbay/server/accounts/client-tokens";
import { type CallerIssuer, createCallerProof } from "@patchbay/server/accounts/callers";
import { createKeylessAccess } from "@patchbay/server/accounts/keyless";
import { createAdapterLimit, createRateLimit } from "@patchbay/server/accounts/limits";
import { mountConsole } from "@patchbay/console-api/mount";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { databaseOption } from "@patchbay/store/open";
import { type Core, createCore } from "./core.ts";
import { type ControlPlaneOptions, type Settings, withDefaults } from "./options.ts";
import { openResources, type Resources } from "./resources.ts";
import { watchAccess } from "./watch-access.ts";
import { startBackground } from "./background.ts";
import { createNetworks } from "@patchbay/server/webhooks/networks";
import { startSender } from "@patchbay/server/webhooks/sender";

/** A running control plane. Its creator closes it. */
export interface ControlPlane {
  /** Base address for this machine, for example `http://127.0.0.1:8787`; without a port, `publicUrl`. */
  readonly url: string;
  /** The port that it listens on; 0 without one. */
  readonly port: number;
  /**
   * Answers a request of the Fetch API. Hono's context `env` may be the second argument: sign-in limits then count by the
   * client's address.
   */
  readonly fetch: Handlers["fetch"];
  /** Answers a request of Node's HTTP server. A body parser must not have read its body. */
  readonly listener: Handlers["listener"];
  /** For the `upgrade` event of Node's HTTP server. Returns false, and does not touch the socket, if no runtime connects. */
  readonly upgrade: Handlers["upgrade"];
  /** The metrics address. */
  readonly metricsUrl: string;
  /** Manages organisations, agents, keys and members. */
  readonly admin: Admin;
  /** The default provider's name; `none` without one. */
  readonly provider: string;
  /** How many of an agent's runtimes are connected to this replica. */
  connectedRuntimes(agentId: string): number;
  /**
   * Drains: refuses new queries and waits up to `graceMs` (default 20,000) for running ones. The next process, or
   * another replica, resumes the rest. With other replicas, streams get the last 2.5 s: they show the progress that
   * runs make on another replica.
   */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** Lists and details that are read at the same time. An embedded database reads them on two threads. */
const READS = { concurrent: 6, embedded: 2, waiting: 10_000 };
/** After the runs are handed over, open streams get this long to send their clients the request to reconnect. */
const FAREWELL_MS = 2_000;
const FOLLOW_MS = 2_500;
/**
 * A replica is ready after this time even when it never reached the bus. It serves its own runtimes without a bus, so a
 * bus outage must not keep all replicas from starting.
 */
const BUS_WAIT_MS = 30_000;
/** Age at which a stream closes while its run waits for an approval. Its client resumes. */
const WAITING_STREAM_MS = 300_000;

/**
 * Starts a control plane and listens. Throws when the database is in use or cannot be opened, or when the port is taken.
 */
export async function createControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { store: _internal, ...plane } = await startControlPlane(options);
  return plane;
}

/** A control plane with its store, which closes with it. */
export interface StartedControlPlane extends ControlPlane {
  readonly store: Store;
}

/** As {@link createControlPlane}, for tests and tools that also read the store. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<StartedControlPlane> {
  const settings = withDefaults(options);
  const { host, log, tiers, providers } = settings;
  const networks = createNetworks(settings.webhookNetworks);
  await using opening = new AsyncDisposableStack();
  const resources = opening.use(await openResources(settings));
  const { store } = resources;
  const core = createCore(settings, resources);
  opening.defer(() => core.gateway.close());
  const access = opening.use(watchAccess(store, log));
  const draining = new AbortController();
  const deps = httpDeps(settings, { resources, core, access, draining: draining.signal });
  const ofAdmins = { store, tiers, prices: providers?.prices, agentChanged: core.gateway.agentChanged };
  const adminOf = (by?: string) => createAdmin({ ...ofAdmins, models: core.models, by });
  const app = createHttpApp(deps);
  if (settings.console) mountConsole(app, { ...deps, ...consoleDeps(settings, { resources, core }), access, adminOf });
  const handlers = createHandlers({
    app,
    upgrade: core.gateway.handleUpgrade,
    log,
    ...(settings.port === false && { mountedAt: settings.prefix }),
    refuse: settings.local ? refuseForeignHosts(settings) : undefined,
  });
  const { connections } = resources.files;
  const server = settings.port === false ? undefined : createHttpServer({ handlers, log, connections });
  opening.defer(async () => {
    // The server's close waits for runtime connections, which the gateway closes.
    const closed = server?.close();
    await core.gateway.close();
    await closed;
  });
  const metricsServer = await listenForMetrics(settings, deps);
  if (metricsServer) opening.use(metricsServer);
  const port = settings.port === false ? 0 : (await server!.listen({ host, port: settings.port })).port;
  const url = port === 0 ? settings.publicUrl! : urlOf(host, port);
  await store.recordAddress(settings.publicUrl ?? url);
  await core.runs.open();
  opening.use(
    startSender({
      webhooks: store.webhooks,
      networks,
      baseUrl: settings.publicUrl ?? url,
      clock: resources.clock,
      log,
      metrics: core.metrics,
    }),
  );
  opening.use(startBackground(store, settings.retention, { clock: resources.clock, log }));

  const opened = opening.move();
  async function close(graceMs: number): Promise<void> {
    draining.abort();
    core.gateway.goingAway();
    // Other replicas cannot resume the runs in an embedded database, so their progress is not followed.
    const followMs = resources.onlyReplica ? 0 : FOLLOW_MS;
    const closed = server?.close({ graceMs: graceMs + FAREWELL_MS });
    await core.runs.drain(Math.max(0, graceMs - followMs), Math.min(graceMs, followMs));
    await core.gateway.close();
    await closed;
    await opened.disposeAsync();
  }
  let closing: Promise<void> | undefined;
  const defaultModel = core.models.choose();
  return {
    store,
    ...handlers,
    url,
    port,
    metricsUrl: `${metricsServer ? urlOf(host, metricsServer.port) : url}/metrics`,
    admin: adminOf(),
    provider: "missing" in defaultModel ? "none" : defaultModel.provider.name,
    connectedRuntimes: (agentId) => core.gateway.connectionCount(agentId),
    close: ({ graceMs = 20_000 } = {}) => (closing ??= close(graceMs)),
  };
}

/** A server can listen on a wildcard address, but not every machine connects to one. */
const REACHABLE: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

function urlOf(host: string, port: number): string {
  const name = REACHABLE[host] ?? host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

function httpDeps(
  settings: Settings,
  parts: { resources: Resources; core: Core; access: AccessWatch; draining: AbortSignal },
): HttpDeps {
  const { tiers, limits, log, corsOrigins, local, host, trustProxy, runTimeoutMs, metricsPort } = settings;
  const { store, bus, clock, files, onlyReplica } = parts.resources;
  const { runs, approvals, authenticate, within, metrics } = parts.core;
  const startedAt = monotonicMs();
  // One process counts in memory; several count in the database.
  const limiter = onlyReplica
    ? createRateLimit(tiers)
    : createRateLimit(tiers, (orgId) => store.accounts.countQuery(orgId));
  return {
    ...present({ metricsToken: settings.metricsToken, publicUrl: settings.publicUrl }),
    runs,
    approvals,
    threads: store.threads,
    audit: store.audit,
    clientTokens: createClientTokens(store.clientTokens),
    ...(settings.callers && callerAccess(settings.callers, { ...settings, accounts: store.accounts, clock })),
    authenticate,
    bus,
    within,
    metrics,
    log,
    clock,
    version: VERSION,
    limits,
    corsOrigins,
    local,
    host,
    trustProxy,
    maxStreamAgeMs: Math.max(WAITING_STREAM_MS, runTimeoutMs + 30_000),
    metricsApart: metricsPort !== undefined,
    rateLimit: limiter,
    adapterLimit: createAdapterLimit(tiers),
    closing: parts.draining,
    streams: createOpenStreams({ limits, access: parts.access, metrics }),
    reads: createFairQueue({
      ...READS,
      concurrent: onlyReplica ? READS.embedded : READS.concurrent,
      busy: tooManyReads,
    }),
    async ready() {
      if (parts.draining.aborted || files.short) return false;
      if (!bus.reached && monotonicMs() - startedAt <= BUS_WAIT_MS) return false;
      return store.ping().then(
        () => true,
        () => false,
      );
    },
  };
}

function consoleDeps(settings: Settings, { resources, core }: { resources: Resources; core: Core }) {
  const { consoleFiles, prefix, tiers, retention, database } = settings;
  const { store } = resources;
  return {
    ...present({ consoleFiles }),
    prefix,
    store,
    engine: store.engine,
    gateway: core.gateway,
    models: core.models,
    tiers,
    retentionDays: retention.days,
    auditDays: retention.auditDays,
    usageDays: retention.usageDays,
    databaseOption: databaseOption(database),
  };
}

function callerAccess(
  issuer: CallerIssuer,
  deps: Pick<Settings, "log" | "publicUrl"> & Pick<Resources, "clock"> & Pick<Store, "accounts">,
) {
  const proveCaller = createCallerProof(issuer, deps);
  return { proveCaller, keyless: createKeylessAccess(issuer, { ...deps, proveCaller }) };
}

function listenForMetrics({ metricsPort: port, host }: Settings, deps: HttpDeps) {
  return port === undefined ? undefined : serveMetrics(deps, { host, port });
}

const tooManyReads = (): ServiceError =>
  new ServiceError("unavailable", "Too many lists and details are waiting to be read. Try again in a moment.");
