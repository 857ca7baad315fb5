/** Tests of a service: one call, or a whole query with a played model, as any role. */
export { callAs, type TestCall } from "./call-as.ts";
export { QueryRefused, type FinishedCall, type FinishedQuery, type TestQuery } from "./finished-query.ts";
export type { LogLine } from "./log-lines.ts";
export type { ModelChoice } from "./model-choice.ts";
export {
  scriptedModel,
  type DecideTurn,
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedTurn,
} from "./scripted-model.ts";
export { runHookAs, type TestHook } from "./run-hook-as.ts";
export { runQuery, startTestDesk, type TestDesk, type TestDeskOptions } from "./test-desk.ts";
export { accessMatchers, type AccessCase, type MatcherResult } from "./matchers.ts";
export type { AccessAssertions } from "./vitest-matchers.ts";
export {
  renderEscalationReport,
  type AttackResult,
  type EscalationReport,
  type Finding,
  type FindingKind,
} from "./escalation/report.ts";
export { runEscalationSuite, type EscalationOptions } from "./escalation/suite.ts";
