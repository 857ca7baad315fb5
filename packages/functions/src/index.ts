/** Functions with roles, and the runtime that connects them. */
export type { CallOutcome, Effect, JsonObject, JsonValue, Manifest, PreparedContext, Roles } from "@patchbay/protocol";
export { DefinitionError, FunctionError } from "./errors.ts";
export type { CallContext, Invocation, InvokeOptions } from "./invocation.ts";
export { createLog, silentLog, type Log, type LogFields, type LogLevel } from "./log.ts";
export type { Service } from "./service.ts";
