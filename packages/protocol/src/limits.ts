/** Every bound that both sides of a wire must agree on. Sizes are bytes of UTF-8 unless the name says otherwise. */
export const LIMITS = {
  bodyBytes: 1_048_576,
  queryUnits: 100_000,
  contextBytes: 65_536,
  jsonDepth: 64,
  labelUnits: 200,
  deploymentUnits: 100,
  idempotencyKeyUnits: 255,
  maxTokens: 1_000_000,
  defaultMaxTokens: 8192,
  localDefaultMaxTokens: 8000,
  resultBytes: 262_144,
  resultToModelBytes: 32_768,
  frameBytes: 1_048_576,
  functionsPerService: 200,
  schemaBytes: 65_536,
  functionTimeoutMs: 60_000,
  functionTimeoutMaxMs: 240_000,
  /** Longest pause between two attempts of a runtime whose connection was lost a moment ago. */
  runtimeReturnMs: 2_500,
  /** Time of one hook of a service. */
  hookTimeoutMs: 10_000,
  /** JSON of a text that a hook sees or returns. With the context of its query it fits a message between replicas. */
  hookTextBytes: 163_840,
  /** Text with which a hook refuses. */
  refusalUnits: 10_000,
  threadQueueDepth: 4,
  steps: 25,
} as const;
