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
      cacheWriteInputTokens: z.number(),
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

/**
 * Who may call what. Each function has its role list once, and figures only where it was called: a verdict and a sentence for each
 * of 200 functions and 200 roles would be tens of megabytes.
 */
export const AccessMatrix = z.object({
  manifestHash: z.string(),
  connected: z.boolean(),
  /** The first is null and stands for queries without a role. */
  roles: z.array(z.string().nullable()),
  /** How many roles the function set names beyond these, in a set from before the present limit on roles. */
  rolesOmitted: z.number(),
  defaultRole: z.string().nullable(),
  functions: z.array(
    z.object({
      name: z.string(),
      effect: Effect,
      /** Result members that only some roles receive. */
      protectedMembers: z.array(z.string()),
      /** The roles that may call it, as indexes of `roles`. */
      roles: z.union([z.literal("everyone"), z.array(z.number())]),
      /** True where the owner's `authorize` also decides, call by call. */
      conditional: z.boolean(),
      /** Calls of the last 30 days. Roles that did not call it are left out. */
      calls: z.array(
        z.object({
          /** Index of `roles`. */
          role: z.number(),
          /** Calls that the checks let through, and calls that they refused. */
          calls: z.number(),
          denied: z.number(),
          lastAt: time,
        }),
      ),
    }),
  ),
  /** True where only the pairs of a function and a role with the most calls have figures. */
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
    /** True for an older set that serves because no runtime of the newest one is connected. */
    standsIn: z.boolean(),
  }),
  z.object({ service: z.string(), serves: z.literal(false), reason: z.string() }),
]);
export type ServingService = z.infer<typeof ServingService>;

/** A function set that allows what the set before it did not, as a deployment brought it. */
export const WidenedSet = z.object({
  service: z.string(),
  /** The deployment's name, or without one (`named`) the instance id of its runtime. */
  deployment: z.string(),
  named: z.boolean(),
  manifestHash: z.string(),
  /** The set that was in use before; null where the service was new. */
  replaces: z.string().nullable(),
  firstSeenAt: time,
  /** One sentence each, at most 50. */
  widenings: z.array(z.object({ functionName: z.string().nullable(), text: z.string() })),
  /** Widenings that are not listed. */
  omitted: z.number(),
  /** `none`: it was used without one. `pending`: the set before it serves until somebody confirms this one. */
  confirmation: z.enum(["none", "pending", "confirmed"]),
  /** Name or address of the member; null where a command confirmed it. */
  confirmedBy: z.string().nullable(),
  confirmedAt: time.nullable(),
});
export type WidenedSet = z.infer<typeof WidenedSet>;
export const WidenedSetPage = pageOf(WidenedSet);

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
