/**
 * Span and attribute names. The `gen_ai` names follow the OpenTelemetry semantic conventions for generative AI that
 * backends read today. The conventions are in development: a new version changes this file only.
 */
export const GEN_AI = {
  operation: "gen_ai.operation.name",
  agentId: "gen_ai.agent.id",
  agentName: "gen_ai.agent.name",
  conversation: "gen_ai.conversation.id",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  maxTokens: "gen_ai.request.max_tokens",
  temperature: "gen_ai.request.temperature",
  responseModel: "gen_ai.response.model",
  finishReasons: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheReadTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  toolName: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  toolCallId: "gen_ai.tool.call.id",
  systemInstructions: "gen_ai.system_instructions",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
} as const;

/** Patchbay's attributes. */
export const PATCHBAY = {
  runId: "patchbay.run.id",
  role: "patchbay.run.role",
  waitedMs: "patchbay.run.waited_ms",
  segment: "patchbay.segment.number",
  segmentEnd: "patchbay.segment.end",
  callId: "patchbay.call.id",
  attempt: "patchbay.attempt",
  rule: "patchbay.rule",
  approval: "patchbay.approval.status",
  approvalWaitedMs: "patchbay.approval.waited_ms",
  requestId: "patchbay.request.id",
  service: "patchbay.service",
  hook: "patchbay.hook",
} as const;

/** Backends read it to group traces by an end user's session. */
export const SESSION_ID = "session.id";
/** A failure's code. Set together with its span's status. */
export const ERROR_TYPE = "error.type";

/** Values for `gen_ai.operation.name`, with which span names begin. */
export const OPERATIONS = {
  agent: "invoke_agent",
  plan: "plan",
  chat: "chat",
  tool: "execute_tool",
} as const;
