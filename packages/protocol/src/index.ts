/** Data formats for every Patchbay wire: frames, the query API, limits, and functions that both sides need. */
export type { JsonObject, JsonValue } from "@patchbay/kit";
export { AccessLock, type CaseDecision, type LockedCell, type LockedFunction, readLock } from "./access-lock.ts";
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
export {
  CallToJudge,
  ControlPlaneFrame,
  FRAME_DEPTH,
  PreparedContext,
  ReportedCase,
  RuntimeFrame,
  type CallFrame,
} from "./frames.ts";
export { HookCall, HookVerdict } from "./hook-frames.ts";
export {
  CallFlow,
  FLOW_LABELS,
  FLOW_MODES,
  FlowEvidence,
  FlowFault,
  type FlowMode,
  FlowNotice,
  FlowRules,
  FlowSource,
  ResultLabels,
  type FlowLabel,
} from "./flow.ts";
export { actsAs, type Inclusions, inheritedFrom, outermost, RoleOptions, withIncluding } from "./inclusion.ts";
export { CallOutcome, isProvisional, ErrorReport } from "./outcome.ts";
export { LiveEvent, LocalEvent, modelStatusText, RunEvent } from "./events.ts";
export { DELIVERY_HEADER, SIGNATURE_HEADER, WEBHOOK_EVENTS, WebhookEvent, WebhookEventType } from "./webhook.ts";
export { ACCESS_CHANGES, CALLERS, LIMITS, MODEL_NAME, OVERRIDES, type AccessChanges, type Override } from "./limits.ts";
export { REASONING, type Reasoning } from "./providers.ts";
export { DEFAULT_LIMITS, OperatorLimits } from "./operator-limits.ts";
export {
  approvalRuleOf,
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
export { CLIENT_DOORS_BY_DEFAULT, ClientDoor, ClientToken, ClientTokenRequest } from "./client-token.ts";
export { Feedback } from "./feedback.ts";
export {
  CancelResponse,
  ErrorBody,
  QueryResponse,
  RetryResponse,
  RunDetail,
  RunningCall,
  RunEntry,
  RunPage,
  RunStatus,
  ThreadDetail,
  ThreadPage,
  ThreadSummary,
  ToolCall,
  Usage,
  type Fault,
} from "./response.ts";
export { CallerIdentity, CallerWithToken } from "./caller.ts";
export { type JudgedFrame, type JudgeFrame, Judgement, type ShadowFrame } from "./shadow-frames.ts";
export { CheckRequest, CheckResponse, FunctionList, RoleFunction } from "./check.ts";
export { isOfService, servicesOf, type StoredCall } from "./stored-call.ts";
export { formatTraceparent, parseTraceparent, type SpanIds, TraceContext, traceOfHeaders } from "./tracing/context.ts";
export { ERROR_TYPE, GEN_AI, OPERATIONS, PATCHBAY, SESSION_ID } from "./tracing/names.ts";
export { hasTraceProvider } from "./tracing/provider.ts";
export { PROVIDER_NAMES } from "./providers.ts";
export { WIRE_NAME_CHARS, wireName } from "./wire-name.ts";
