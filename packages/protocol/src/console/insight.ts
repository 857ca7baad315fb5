import { z } from "zod";
import { pageOf, time } from "./route.ts";
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

/** Ended queries of a part, and the cost of their turns. */
const share = { queries: z.number(), failed: z.number(), costUsd: z.number() };

/** Queries of one agent or all agents over a range. Buckets have the same width; empty ones are included. */
export const Analytics = z.object({
  from: time,
  to: time,
  bucketMs: z.number(),
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
  /** Of each of the following up to 50, by number of queries. A query is counted within seconds of its end. */
  agents: z.array(z.object({ agentId: z.string(), name: z.string(), ...share })),
  /** `name`: the label or hint of a key or token, the name of a member; null for one that no longer exists. */
  keys: z.array(z.object({ agentId: z.string(), keyId: z.string(), name: z.string().nullable(), ...share })),
  sources: z.array(z.object({ source: RunSource, ...share })),
  /** Error codes of failed queries. */
  codes: z.array(z.object({ agentId: z.string(), code: z.string(), ...share })),
});
export type Analytics = z.infer<typeof Analytics>;

/** One entry of the audit log. */
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
  /** Name or address of the member who did it; null for others. */
  member: z.string().nullable(),
  /** Label of the key or token; null for others and without one. */
  keyLabel: z.string().nullable(),
  functionName: z.string().nullable(),
  rule: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()).nullable(),
});
export type AuditItem = z.infer<typeof AuditItem>;
/** One page of the audit log. */
export const AuditPage = pageOf(AuditItem);

/** Lists that changed since the last event and must be fetched again. */
export const Change = z.object({
  topics: z.array(z.enum(["agents", "runtimes", "runs", "credentials", "credits", "members"])),
});
export type Change = z.infer<typeof Change>;
