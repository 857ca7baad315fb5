/** The data of every Patchbay wire: frames, the query API, limits, and functions that both of their sides need. */
export { AccessLock, type LockedCell } from "./access-lock.ts";
export {
  CALL_ERROR_CODES,
  HTTP_ERROR_CODES,
  MESSAGES,
  RUN_ERROR_CODES,
  unknownFunctionMessage,
  type CallErrorCode,
  type HttpErrorCode,
  type RunErrorCode,
} from "./codes.ts";
export {
  CallOutcome,
  CLOSE_CODES,
  ControlPlaneFrame,
  ErrorReport,
  FRAME_DEPTH,
  FRAMES_VERSION,
  HookCall,
  HookVerdict,
  PreparedContext,
  RuntimeFrame,
  type CallFrame,
} from "./frames.ts";
export { LiveEvent, LocalEvent, RunEvent } from "./events.ts";
export {
  canonicalJson,
  inexactMessage,
  inexactNumber,
  isJsonObject,
  nestsDeeper,
  parseJson,
  present,
  type JsonObject,
  type JsonValue,
  type ParsedJson,
} from "./json.ts";
export {
  ACCESS_CHANGES,
  LIMITS,
  MODEL_NAME,
  OVERRIDES,
  PROVIDER_NAMES,
  type AccessChanges,
  type Override,
} from "./limits.ts";
export { DEFAULT_LIMITS, OperatorLimits } from "./operator-limits.ts";
export {
  Effect,
  explainDenial,
  FUNCTION_NAME,
  ExampleQuery,
  FunctionManifest,
  listRoles,
  Manifest,
  Redaction,
  Roles,
  rolesAllow,
  type FunctionOrigin,
  type ServiceHooks,
} from "./manifest.ts";
export { oncePer } from "./once-per.ts";
export {
  AgentSettings,
  AgentSettingsChange,
  applySettingsChange,
  FallbackModel,
  LlmConfig,
  LocalQueryRequest,
  QueryRequest,
} from "./query.ts";
export {
  CancelResponse,
  ErrorBody,
  QueryResponse,
  RunDetail,
  RunStatus,
  ThreadDetail,
  ThreadPage,
  ThreadSummary,
  ToolCall,
  Usage,
  type Fault,
} from "./response.ts";
export { createMatcher, validateAnswer } from "./response-schema/validate.ts";
export { widerPlaces } from "./schema-widening.ts";
export { followRef, mapSchema, memberPath, pointerName, withoutAnnotations, withOpenObjects } from "./subschemas.ts";
export { escapeControls, isClearText, isLoopback } from "./text.ts";
export { widenings, type Widening } from "./widening.ts";
