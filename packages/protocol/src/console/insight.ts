import { z } from "zod";
import { indexedTo, pageOf, time } from "./route.ts";
import { RunSource } from "./runs.ts";

const figures = {
  succeeded: z.number(),
  failed: z.number(),
  cancelled: z.number(),
  /** Durations of ended queries, within 5 %; null without any. */
  p50Ms: z.number().nullable(),
  p95Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
  /** From the model request to the first text of a turn, within 5 %; null without any. */
  firstTokenP50Ms: z.number().nullable(),
  firstTokenP95Ms: z.number().nullable(),
  inputTokens: z.number(),
  cachedInputTokens: z.number(),
  outputTokens: z.number(),
  costUsd: z.number(),
};

/** Ended queries in one part, and the cost of their turns. */
const share = { queries: z.number(), failed: z.number(), costUsd: z.number() };

/** Queries to one agent or all agents over a range. Buckets have the same width; empty ones are included. */
export const Analytics = z.object({
  from: time,
  to: time,
  bucketMs: z.number(),
  indexedTo: indexedTo.describe(
    "For the shares by agent, key, source and error code. Absent while the index is not behind.",
  ),
  totals: z.object(figures),
  buckets: z.array(z.object({ at: time, ...figures })),
  models: z.array(
    z.object({
      provider: z.string(),
      model: z.string(),
      turns: z.number(),
      firstTokenP50Ms: z.number().nullable(),
      inputTokens: z.number(),
      cachedInputTokens: z.number(),
      cacheWriteInputTokens: z.number(),
      outputTokens: z.number(),
      costUsd: z.number(),
      /** Cost in each bucket. */
      costs: z.array(z.number()),
    }),
  ),
  /** Up to 50, by number of calls. */
  functions: z.array(
    z.object({
      name: z.string(),
      calls: z.number(),
      failed: z.number(),
      denied: z.number(),
      p50Ms: z.number().nullable(),
      p95Ms: z.number().nullable(),
      totalMs: z.number(),
    }),
  ),
  roles: z.array(z.object({ role: z.string().nullable(), ...share })),
  /** Up to 50 in each list below, by query count. A query counts within seconds after its end. */
  agents: z.array(z.object({ agentId: z.string(), name: z.string(), ...share })),
  /** `name`: label or hint of the key or token, or the member's name; null for one that no longer exists. */
  keys: z.array(z.object({ agentId: z.string(), keyId: z.string(), name: z.string().nullable(), ...share })),
  sources: z.array(z.object({ source: RunSource, ...share })),
  /** Error codes from failed queries. */
  codes: z.array(z.object({ agentId: z.string(), code: z.string(), ...share })),
});
export type Analytics = z.infer<typeof Analytics>;

/** One audit log entry. */
export const AuditItem = z.object({
  id: z.string(),
  at: time,
  action: z.string(),
  /** The entry in one sentence. */
  sentence: z.string(),
  agentId: z.string().nullable(),
  runId: z.string().nullable(),
  callId: z.string().nullable(),
  role: z.string().nullable(),
  /** The key, token or member that did it. */
  keyId: z.string().nullable(),
  /** The member's name or address; null for others. */
  member: z.string().nullable(),
  /** Label of the key or token; null for others and without one. */
  keyLabel: z.string().nullable(),
  functionName: z.string().nullable(),
  rule: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()).nullable(),
});
export type AuditItem = z.infer<typeof AuditItem>;
/** One audit log page. */
export const AuditPage = pageOf(AuditItem);

/** Lists that changed since the last event and must be fetched again. */
export const Change = z.object({
  topics: z.array(z.enum(["agents", "runtimes", "runs", "credentials", "credits", "members"])),
});
export type Change = z.infer<typeof Change>;
