import { modelContract } from "./contract.ts";

modelContract({
  wire: "openai-chat",
  model: "qwen3",
  takesTemperature: "gpt-4.1-mini",
  takesNoTemperature: "gpt-5-mini",
  seesCutCalls: true,
  quota: { status: 429, code: "insufficient_quota" },
  tooLong: { status: 400, message: "This model's maximum context length is 8192 tokens." },
  retryAfter: { status: 429, headers: { "retry-after": "2.5" } },
});
