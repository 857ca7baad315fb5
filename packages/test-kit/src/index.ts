/** Tests a service as any role: one call, or a whole query with a scripted model. */
export type { Approver, PlayedDecision } from "./approver.ts";
export { callAs, type TestCall } from "./call-as.ts";
export { QueryRefused, type FinishedCall, type FinishedQuery, type TestQuery } from "./finished-query.ts";
export type { LogLine } from "./finished-query.ts";
export type { ModelChoice } from "./model-choice.ts";
export {
  scriptedModel,
  type DecideTurn,
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedTurn,
} from "./scripted-model.ts";
export { runHookAs, type TestHook } from "./call-as.ts";
export { runQuery, startTestServer, type TestServer, type TestServerOptions } from "./test-server.ts";
export { accessMatchers, type AccessCase, type MatcherResult } from "./matchers.ts";
export type { AccessAssertions } from "./matchers.ts";
