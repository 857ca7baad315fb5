/** Functions with roles, the service that checks their calls, and the runtime that connects them to a control plane. */
export type {
  CallerIdentity,
  CallerWithToken,
  CallOutcome,
  Effect,
  ExampleQuery,
  GrantedApproval,
  HookCall,
  HookVerdict,
  Manifest,
  PreparedContext,
  Roles,
} from "@patchbay/protocol";
export type { JsonObject, JsonValue } from "@patchbay/kit";
export type { AccessRequest, Refusal, Rule } from "./admission.ts";
export type { ApprovalOptions, Duration } from "./approval.ts";
export { callInProgress, type CallInProgress } from "./call-in-progress.ts";
export type { Access, Decision } from "./decision.ts";
export type { CheckedCase, FunctionCase } from "./definition-checks.ts";
export { ConnectionError, DefinitionError, FunctionError, OutcomeUnknownError, RetryableError } from "./errors.ts";
export { defineFunction, everyone, functionsFor, type FunctionDefinition, type FunctionOptions } from "./function.ts";
export { fromTool, type FromToolOptions } from "./from-tool.ts";
export { secret, untrusted } from "./flow/labels.ts";
export type { FlowOptions, FunctionFlow, TargetSource } from "./flow/options.ts";
export type {
  AnswerHook,
  AnswerReview,
  CallHook,
  CallLabels,
  CallReview,
  QueryHook,
  QueryReview,
  Refused,
  Replaced,
} from "./hooks.ts";
export type { CallContext, Invocation, InvokeOptions } from "./invocation.ts";
export { createLog, silentLog, type Log, type LogFields, type LogLevel } from "./log.ts";
export type { BackoffOptions } from "./connection/backoff.ts";
export { connect, type Connection, type ConnectOptions } from "./connection/connect.ts";
export type { ApprovalNotice } from "./connection/notices.ts";
export type { SubjectQuery } from "./context.ts";
export type { Interrupted, Reconciled } from "./reconcile.ts";
export type { Retries } from "./retries.ts";
export type { RoleDefinition, RoleDefinitions, ServiceRoles } from "./roles.ts";
export { visibleTo } from "./redaction/visible-to.ts";
export type { ContextOf, InputOf, OutputOf, RawSchema, Schema, StandardSchema, Zod3Schema } from "./schema/schema.ts";
export { defineService, isService, type FunctionAccess, type Service, type ServiceOptions } from "./service.ts";
