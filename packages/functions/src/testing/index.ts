/** Tests a service as any role: one call, a whole query with a scripted model, or every attack of the escalation suite. */
export * from "@patchbay/test-kit";
export {
  renderEscalationReport,
  type AttackResult,
  type EscalationReport,
  type Finding,
  type FindingKind,
  type Risk,
} from "@patchbay/escalation/report";
export { runEscalationSuite, type EscalationOptions } from "@patchbay/escalation/suite";
