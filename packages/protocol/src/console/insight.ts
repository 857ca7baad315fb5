import { z } from "zod";
import { Effect } from "../manifest.ts";
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

/**
 * Who may call what. Each function has its role list once, and figures only for roles that called it: a cell for each of 200
 * functions and 200 roles would make a response of tens of megabytes.
 */
export const AccessMatrix = z.object({
  manifestHash: z.string(),
  connected: z.boolean(),
  /** The first is null, for queries without a role. */
  roles: z.array(z.string().nullable()),
  /** Number of further roles, in a set that is older than the limit on roles. */
  rolesOmitted: z.number(),
  defaultRole: z.string().nullable(),
  functions: z.array(
    z.object({
      name: z.string(),
      effect: Effect,
      /** Result fields that only some roles receive. */
      restrictedFields: z.array(z.string()),
      /** The roles that may call it, as indexes of `roles`. */
      roles: z.union([z.literal("everyone"), z.array(z.number())]),
      /** True when the owner's `authorize` also decides each call. */
      conditional: z.boolean(),
      /** Calls of the last 30 days, by the roles that made any. */
      calls: z.array(
        z.object({
          /** Index of `roles`. */
          role: z.number(),
          /** Calls that the checks allowed, and calls that they denied. */
          calls: z.number(),
          denied: z.number(),
          lastAt: time,
        }),
      ),
    }),
  ),
  /** True when only the pairs of function and role with the most calls have figures. */
  callsOmitted: z.boolean(),
});
export type AccessMatrix = z.infer<typeof AccessMatrix>;

/** A service with a connected runtime, and which of its deployments new runs get. */
export const ServingService = z.discriminatedUnion("serves", [
  z.object({
    service: z.string(),
    serves: z.literal(true),
    deployment: z.string(),
    manifestHash: z.string(),
    /** True for an older set that serves because no runtime with the newest one is connected. */
    isFallback: z.boolean(),
  }),
  z.object({ service: z.string(), serves: z.literal(false), reason: z.string() }),
]);
export type ServingService = z.infer<typeof ServingService>;

/** A function set that widens access, as a deployment connected it. */
export const WidenedSet = z.object({
  service: z.string(),
  /** The deployment's name, or without one (`named`) the instance id of its runtime. */
  deployment: z.string(),
  named: z.boolean(),
  manifestHash: z.string(),
  /** Hash of the set that was in use before; null for a new service. */
  replaces: z.string().nullable(),
  firstSeenAt: time,
  /** One sentence each, at most 50. */
  widenings: z.array(z.object({ functionName: z.string().nullable(), text: z.string() })),
  /** Widenings that are not listed. */
  omitted: z.number(),
  /** `none`: the set was used without a confirmation. `pending`: the set before it serves until a member confirms this one. */
  confirmation: z.enum(["none", "pending", "confirmed"]),
  /** Name or address of the member; null for a command. */
  confirmedBy: z.string().nullable(),
  confirmedAt: time.nullable(),
});
export type WidenedSet = z.infer<typeof WidenedSet>;
/** One page of sets that widen access. */
export const WidenedSetPage = pageOf(WidenedSet);

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
