import { randomBytes } from "node:crypto";
import type { ControlPlaneOptions, ModelProvider, ProviderSettings } from "@patchbay/control-plane";
import type { StartedControlPlane } from "@patchbay/control-plane/admin";
import { PROVIDER_NAMES } from "@patchbay/protocol";
import { connect, type Connection } from "@patchbay/runtime/connection/connect";
import type { Service } from "@patchbay/runtime/service";
import { loadControlPlane } from "./control-plane.ts";
import { keepLines, type LogLine } from "./finished-query.ts";
import { createModelSwitch } from "./model-choice.ts";
import { TestClient } from "./test-client.ts";

/** A control plane, or its replicas, with one agent and its key, and a connected runtime, in this process. */
export interface LocalServer extends AsyncDisposable {
  /** The replica that queries are sent to. */
  readonly plane: StartedControlPlane;
  readonly connection: Connection;
  readonly client: TestClient;
  readonly log: readonly LogLine[];
  readonly agentId: string;
  readonly apiKey: string;
}

export interface LocalServerOptions {
  instructions: string;
  runTimeoutMs: number;
  /** Calls that the runtime runs at the same time. */
  concurrency?: number;
  /** Wraps the queries' models. */
  wrapModel?: (model: ModelProvider) => ModelProvider;
  /** Default: one control plane on a database in memory. */
  startPlanes?: StartPlanes;
}

/** Starts a control plane's replicas. The runtime connects to the first one, and the last one receives the queries. */
export type StartPlanes = (
  options: Omit<ControlPlaneOptions, "database">,
) => Promise<[StartedControlPlane, ...StartedControlPlane[]]>;

/** Every provider is configured, so that a query may name any. The test's model answers in place of each. */
const UNUSED = { apiKey: "unused", api: "responses" } as const;
const ALL_PROVIDERS: ProviderSettings = {
  ...Object.fromEntries(PROVIDER_NAMES.map((name) => [name, UNUSED])),
  offline: true,
  default: { provider: "offline" },
};

export async function startLocalServer(service: Service, options: LocalServerOptions): Promise<LocalServer> {
  const { instructions, runTimeoutMs, concurrency = 16, wrapModel = (model) => model } = options;
  const { startPlanes = startInMemory } = options;
  const models = createModelSwitch();
  const log: LogLine[] = [];

  await using opening = new AsyncDisposableStack();
  const planes = await startPlanes({
    port: 0,
    providers: ALL_PROVIDERS,
    wrapModel: () => wrapModel(models.provider),
    runTimeoutMs,
    log: keepLines(log, "control-plane"),
  });
  opening.defer(() => Promise.all(planes.map((opened) => opened.close({ graceMs: 0 }))).then(() => {}));
  const plane = planes.at(-1)!;
  const { agentId, apiKey } = await plane.admin.createAgent("Test", { instructions });
  const { apiKey: approverKey } = await plane.admin.createKey({ agentId, can: ["approve"] });
  const { runtimeKey: key } = await plane.admin.createRuntimeKey({ agentId });
  const connection = connect(service, {
    url: planes[0].url,
    agentId,
    key,
    flowKeys: [randomBytes(32).toString("base64url")],
    concurrency,
    proxy: false,
    log: keepLines(log, "runtime"),
  });
  opening.defer(() => connection.stop({ drainMs: 0 }));
  await connection.ready;

  const client = new TestClient({ plane, agentId, apiKey, approverKey, models, log });
  const opened = opening.move();
  return { plane, connection, client, log, agentId, apiKey, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const startInMemory: StartPlanes = async (options) => {
  const { startControlPlane } = await loadControlPlane();
  return [await startControlPlane({ ...options, database: "sqlite::memory:" })];
};
