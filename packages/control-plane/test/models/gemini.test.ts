import { modelContract } from "./contract.ts";

modelContract({
  wire: "gemini",
  model: "gemini-3.8-flash",
  takesTemperature: "gemini-2.5-flash",
  takesNoTemperature: "gemini-4-argon",
  seesCutCalls: false,
  quota: {
    status: 429,
    details: [{ violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }] }],
  },
  tooLong: { status: 400, message: "The input token count (1200000) exceeds the maximum number of tokens allowed." },
  retryAfter: {
    status: 429,
    details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "2.5s" }],
  },
});
