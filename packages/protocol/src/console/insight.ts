import { z } from "zod";
import { Effect } from "../manifest.ts";
import { pageOf, time } from "./paging.ts";

const figures = {
  succeeded: z.number(),
  failed: z.number(),
  cancelled: z.number(),
  /** Of queries that ended; null where none did. Within 5 % of the exact value. */
  p50Ms: z.number().nullable(),
  p95Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  costUsd: z.number(),
};

/** Queries of an agent, or of all agents, over a range; buckets have the same width and none is left out. */
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
      inputTokens: z.number(),
      cachedInputTokens: z.number(),
      outputTokens: z.number(),
      costUsd: z.number(),
      /** Cost in each bucket. */
      costs: z.array(z.number()),
    }),
  ),
  /** Most called first, at most 50. */
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
  roles: z.array(
    z.object({ role: z.string().nullable(), queries: z.number(), failed: z.number(), costUsd: z.number() }),
  ),
});
export type Analytics = z.infer<typeof Analytics>;

/** `conditional`: the role list lets it through, and the owner's `authorize` decides call by call. */
export const Verdict = z.enum(["allowed", "conditional", "denied"]);

export const AccessMatrix = z.object({
  manifestHash: z.string(),
  connected: z.boolean(),
  /** Null stands for queries without a role. */
  roles: z.array(z.string().nullable()),
  defaultRole: z.string().nullable(),
  functions: z.array(
    z.object({
      name: z.string(),
      effect: Effect,
      /** Result members that are for some roles alone. */
      protectedMembers: z.array(z.string()),
      /** In the order of `roles`. */
      cells: z.array(
        z.object({
          verdict: Verdict,
          why: z.string(),
          /** Of the last 30 days: calls of the role that went through, and those that were refused. */
          calls: z.number(),
          denied: z.number(),
          lastAt: time.nullable(),
        }),
      ),
    }),
  ),
});
export type AccessMatrix = z.infer<typeof AccessMatrix>;

export const AuditItem = z.object({
  id: z.string(),
  at: time,
  action: z.string(),
  /** What happened, in a sentence. */
  sentence: z.string(),
  agentId: z.string().nullable(),
  runId: z.string().nullable(),
  callId: z.string().nullable(),
  role: z.string().nullable(),
  /** The key, token or member that did it. */
  keyId: z.string().nullable(),
  /** Name or address of the member, where one did it. */
  member: z.string().nullable(),
  functionName: z.string().nullable(),
  rule: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()).nullable(),
});
export type AuditItem = z.infer<typeof AuditItem>;
export const AuditPage = pageOf(AuditItem);

/** What changed since the last event: which lists to fetch anew. */
export const Change = z.object({
  topics: z.array(z.enum(["agents", "runtimes", "runs", "credentials", "credits", "members"])),
});
export type Change = z.infer<typeof Change>;
