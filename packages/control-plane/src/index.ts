/** The Patchbay control plane, for programs that embed it. `@patchbay/control-plane/admin` manages a database without serving it. */
export { createControlPlane, type ControlPlane } from "./start/control-plane.ts";
export type { ControlPlaneOptions, ProviderSettings } from "./start/options.ts";
export type { FirstStart } from "./start/first-start.ts";
export { AdminError } from "./accounts/admin-error.ts";
export type { Admin } from "./accounts/admin.ts";
export type { InvitedMember } from "./accounts/members.ts";
export type { CallerIssuer } from "./accounts/callers.ts";
export { parseLimits, parseTiers, type Tiers } from "./accounts/limits.ts";
export { createLog } from "./start/log.ts";
export { recordTo } from "./recording/recording.ts";
export { recordedResults, type RecordedResult } from "./recording/results.ts";
export { RecordingMiss, replayFrom } from "./recording/recording.ts";
export { parsePrices, type ModelPrice, type ModelPrices } from "./models/prices.ts";
export { createOfflineProvider } from "./models/offline.ts";
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
export type { Observer, QueryLine } from "./run/api.ts";
