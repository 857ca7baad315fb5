/** The Patchbay control plane, for programs that embed it. `@patchbay/control-plane/admin` manages a database without serving it. */
export { createControlPlane, type ControlPlane } from "./start/control-plane.ts";
export type { ControlPlaneOptions, ProviderSettings } from "./start/options.ts";
export type { FirstStart } from "./start/first-start.ts";
export { AdminError } from "@patchbay/server/accounts/admin-error";
export type { Admin } from "@patchbay/server/accounts/admin";
export type { InvitedMember } from "@patchbay/server/accounts/members";
export type { CallerIssuer } from "@patchbay/server/accounts/callers";
export { parseLimits, parseTiers, type Tiers } from "@patchbay/server/accounts/limits";
export { createLog } from "./start/log.ts";
export { recordTo } from "@patchbay/server/recording/recording";
export { recordedResults, type RecordedResult } from "@patchbay/server/recording/results";
export { RecordingMiss, replayFrom } from "@patchbay/server/recording/recording";
export { parsePrices, type ModelPrice, type ModelPrices } from "@patchbay/models/prices";
export { type Endpoint, parseEndpoints } from "@patchbay/models/endpoints";
export { createOfflineProvider } from "@patchbay/models/offline";
export type { Log, LogFields } from "@patchbay/kit";
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
} from "@patchbay/engine/ports/model-provider";
export { ModelError } from "@patchbay/engine/ports/model-provider";
export type { Observer, QueryLine } from "@patchbay/engine/run/api";
