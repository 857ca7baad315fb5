import { modelContract } from "./contract.ts";

modelContract({
  wire: "openai-responses",
  model: "gpt-6.1-terra",
  takesTemperature: "gpt-4.1-mini",
  takesNoTemperature: "gpt-6.1-terra",
  seesCutCalls: true,
  quota: { status: 429, code: "insufficient_quota" },
  tooLong: { status: 400, code: "context_length_exceeded" },
  retryAfter: { status: 429, headers: { "retry-after-ms": "2500", "retry-after": "3" } },
});
