/** The Patchbay control plane: everything an executable or an embedding program needs. */
export { createControlPlane, type ControlPlane, type ControlPlaneOptions, type ProviderSettings } from "./compose.ts";
export { reachesNats } from "./bus/reaches-nats.ts";
export { createAdmin, AdminError, type Admin } from "./accounts/admin.ts";
export type { InvitedMember } from "./accounts/members.ts";
export { parseLimits } from "./accounts/limits.ts";
export { parseTiers, type Tiers } from "./accounts/tiers.ts";
export { createLog } from "./log.ts";
export { recordTo } from "./models/cassette/record.ts";
export { recordedResults, type RecordedResult } from "./models/cassette/results.ts";
export { CassetteMiss, replayFrom } from "./models/cassette/replay.ts";
export { parsePrices, type ModelPrice, type ModelPrices } from "./models/price-file.ts";
export { createOfflineProvider } from "./models/offline/provider.ts";
export type { Log, LogFields } from "./ports/log.ts";
export type {
  Message,
  ModelCall,
  ModelErrorKind,
  ModelEvent,
  ModelFunction,
  ModelProvider,
  ModelRequest,
  ModelResult,
  ModelTurn,
} from "./ports/model-provider.ts";
export { ModelError } from "./ports/model-provider.ts";
export type { Store } from "./ports/stores.ts";
export type { Observer, QueryLine } from "./run/observer.ts";
export { exportRun, type ExportedQuery, type ExportedRun } from "./run-export.ts";
export { endOpenRuns, restoreBackup, type Restored } from "./restore.ts";
export { inspectPostgres, openStore } from "./store/open.ts";
