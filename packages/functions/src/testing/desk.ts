import type { ControlPlane, ModelProvider } from "@patchbay/control-plane";
import { connect, type Connection } from "../runtime/connect.ts";
import type { Service } from "../service.ts";
import { loadControlPlane } from "./control-plane.ts";
import { createDeskClient } from "./desk-client.ts";
import { keepLines, type LogLine } from "./log-lines.ts";
import { createModelSwitch } from "./model-switch.ts";

/** A control plane and a runtime in this process, with an agent and its key. */
export interface Desk extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly connection: Connection;
  readonly client: ReturnType<typeof createDeskClient>;
  readonly log: readonly LogLine[];
  readonly agentId: string;
  readonly apiKey: string;
}

export interface DeskOptions {
  instructions: string;
  runTimeoutMs: number;
  /** Calls that the runtime runs side by side. */
  concurrency?: number;
  /** Stands between the control plane and the models of the queries. */
  wrapModel?: (model: ModelProvider) => ModelProvider;
}

/** Whichever provider a query names, and whatever it costs: the place of the model is taken by the test's. */
const UNUSED = { apiKey: "unused" };
const ALL_PROVIDERS = {
  anthropic: UNUSED,
  openai: { ...UNUSED, api: "responses" },
  gemini: UNUSED,
  offline: true,
  default: { provider: "offline" },
} as const;

export async function openDesk(service: Service, options: DeskOptions): Promise<Desk> {
  const { instructions, runTimeoutMs, concurrency = 16, wrapModel = (model) => model } = options;
  const { createControlPlane } = await loadControlPlane();
  const models = createModelSwitch();
  const log: LogLine[] = [];

  await using opening = new AsyncDisposableStack();
  const plane = await createControlPlane({
    database: "sqlite::memory:",
    port: 0,
    providers: ALL_PROVIDERS,
    wrapModel: () => wrapModel(models.provider),
    runTimeoutMs,
    log: keepLines(log, "control-plane"),
  });
  opening.defer(() => plane.close({ graceMs: 0 }));
  const { agentId, apiKey } = await plane.admin.createAgent("Test", { instructions });
  const { runtimeKey: key } = await plane.admin.createRuntimeKey({ agentId });
  const connection = connect(service, { url: plane.url, agentId, key, concurrency, log: keepLines(log, "runtime") });
  opening.defer(() => connection.stop({ drainMs: 0 }));
  await connection.ready;

  const client = createDeskClient({ plane, agentId, apiKey, models, log });
  const opened = opening.move();
  return { plane, connection, client, log, agentId, apiKey, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
