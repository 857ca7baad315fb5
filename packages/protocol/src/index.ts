/** The data of every Patchbay wire: frames, the query API, limits, and functions that both of their sides need. */
export { accessColumns, accessSurface, byName, NO_ROLE, roleOfColumn } from "./access-surface.ts";
export { compareAccess, widenings, type Widening } from "./access-changes.ts";
export { AccessLock, type CaseDecision, type LockedCell, type LockedFunction, readLock } from "./access-lock.ts";
export { type AccessChange, cellFor, isRemoved, quote, RANK } from "./access-sentences.ts";
export {
  Approval,
  APPROVAL_REQUIRED,
  ApprovalDecision,
  approvalIdOf,
  ApprovalPage,
  ApprovalRequest,
  ApprovalRule,
  ApprovalStatus,
  GrantedApproval,
} from "./approval.ts";
export {
  APPROVAL_STATUSES,
  CALL_ERROR_CODES,
  CALLER,
  FRAMES_VERSION,
  CLOSE_CODES,
  HTTP_ERROR_CODES,
  MESSAGES,
  RUN_ERROR_CODES,
  VERSION,
  unknownFunctionMessage,
  type CallErrorCode,
  type HttpErrorCode,
  type RunErrorCode,
} from "./codes.ts";
export { outputSchemaFor } from "./output-schema.ts";
export {
  ControlPlaneFrame,
  FRAME_DEPTH,
  HookCall,
  HookVerdict,
  PreparedContext,
  ReportedCase,
  RuntimeFrame,
  type CallFrame,
} from "./frames.ts";
export { CallOutcome, isProvisional, ErrorReport } from "./outcome.ts";
export { LiveEvent, LocalEvent, RunEvent } from "./events.ts";
export { DELIVERY_HEADER, SIGNATURE_HEADER, WEBHOOK_EVENTS, WebhookEvent, WebhookEventType } from "./webhook.ts";
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
  CALLERS,
  LIMITS,
  MODEL_NAME,
  OVERRIDES,
  PROVIDER_NAMES,
  type AccessChanges,
  type Override,
} from "./limits.ts";
export { LOG_LEVELS, logText, logTo, prettyText, silentLog, type Log, type LogFields, type LogLevel } from "./log.ts";
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
  rolesOf,
  type FunctionOrigin,
  type ServiceHooks,
} from "./manifest.ts";
export { oncePer } from "./once-per.ts";
export {
  AgentSettings,
  AgentSettingsChange,
  applySettingsChange,
  ContextJson,
  FallbackModel,
  LlmConfig,
  LocalQueryRequest,
  optional,
  QueryRequest,
  ResponseSchema,
  textUpTo,
} from "./query.ts";
export { ClientToken, ClientTokenRequest } from "./client-token.ts";
export { Feedback } from "./feedback.ts";
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
export { redactedFor } from "./schema-redaction.ts";
export { compareSchemas, widerPlaces, type SchemaChange, type Verdict, type Wider } from "./schema-widening.ts";
export {
  followRef,
  MARK,
  mapSchema,
  memberPath,
  pointerName,
  withoutAnnotations,
  withoutMark,
  withoutTexts,
  withOpenObjects,
} from "./subschemas.ts";
export type { JudgedFrame, JudgeFrame, ShadowFrame } from "./shadow-frames.ts";
export { isOfService, type StoredCall } from "./stored-call.ts";
export { escapeControls, isClearText, isLoopback } from "./text.ts";
export { formatTraceparent, parseTraceparent, type SpanIds, TraceContext, traceOfHeaders } from "./tracing/context.ts";
export { ERROR_TYPE, GEN_AI, OPERATIONS, PATCHBAY, SESSION_ID } from "./tracing/names.ts";
export { hasTraceProvider } from "./tracing/provider.ts";
export { WIRE_NAME_CHARS, wireName } from "./wire-name.ts";
