import { modelContract } from "./contract.ts";

modelContract({
  wire: "anthropic",
  model: "claude-sonnet-5-5",
  takesTemperature: "claude-haiku-4-5",
  takesNoTemperature: "claude-opus-5-5",
  seesCutCalls: true,
  quota: { status: 429, code: "enforced_spend_limit_reached" },
  tooLong: { status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" },
  retryAfter: { status: 429, headers: { "retry-after": "2.5" } },
});
