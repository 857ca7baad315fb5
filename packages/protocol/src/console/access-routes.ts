import { z } from "zod";
import { Effect } from "../manifest.ts";
import { type ConsoleRoute, pageOf, paging, read, readBy, time } from "./route.ts";

/** The roles whose people must approve calls to a function. `conditional`: some calls only. Absent: none needs it. */
const ApprovalNeed = z.object({ by: z.array(z.string()), conditional: z.boolean() });

/**
 * Who may call what. Each function has its role list once, and figures only for roles that called it: cells for 200
 * functions times 200 roles would be tens of megabytes.
 */
export const AccessMatrix = z.object({
  manifestHash: z.string(),
  connected: z.boolean(),
  /** The first is null, for queries without a role. */
  roles: z.array(z.string().nullable()),
  /** Number of further roles, in a set from before the role limit. */
  rolesOmitted: z.number(),
  defaultRole: z.string().nullable(),
  /** The roles that include others, with all that they include, as indexes into `roles`. */
  inclusions: z.array(z.object({ role: z.number(), includes: z.array(z.number()) })),
  functions: z.array(
    z.object({
      name: z.string(),
      effect: Effect,
      /** Result fields that only some roles receive. */
      restrictedFields: z.array(z.string()),
      /** The roles that may call it, as indexes into `roles`. */
      roles: z.union([z.literal("everyone"), z.array(z.number())]),
      /** True when the owner's `authorize` also decides each call. */
      conditional: z.boolean(),
      approval: ApprovalNeed.optional(),
      /** The owner's cases, with the roles for which the runtime decided each, as indexes into `roles`. */
      cases: z.array(
        z.object({
          name: z.string(),
          allowed: z.array(z.number()),
          approval: z.array(z.number()),
          denied: z.array(z.number()),
        }),
      ),
      /** Calls in the last 30 days, by calling role. */
      calls: z.array(
        z.object({
          /** Index into `roles`. */
          role: z.number(),
          /** Allowed and denied calls. */
          calls: z.number(),
          denied: z.number(),
          lastAt: time,
        }),
      ),
    }),
  ),
  /** True when only the most frequent pairs of function and role have figures. */
  callsOmitted: z.boolean(),
  /** Number of cases that are not listed. */
  casesOmitted: z.number(),
  /** Calls that data-flow rules did not allow, also only reported ones, among the newest 1,000 in the last 30 days to functions with rules. */
  flowFaults: z.array(
    z.object({ functionName: z.string(), rule: z.string(), calls: z.number(), /** The newest. */ runId: z.string() }),
  ),
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
  /** The set in use before, as its hash; null for a new service. */
  replaces: z.string().nullable(),
  firstSeenAt: time,
  /** One sentence each, at most 50. */
  widenings: z.array(z.object({ functionName: z.string().nullable(), text: z.string() })),
  /** Widenings that are not listed. */
  omitted: z.number(),
  /** `none`: the set was used without a confirmation. `pending`: the set before it serves until a member confirms this one. */
  confirmation: z.enum(["none", "pending", "confirmed"]),
  /** True for the set in its service's newest deployment. If it is pending, its confirmation replaces what queries use. */
  newest: z.boolean(),
  /** Name or address of the member; null for a command. */
  confirmedBy: z.string().nullable(),
  confirmedAt: time.nullable(),
});
export type WidenedSet = z.infer<typeof WidenedSet>;
/** One page of sets that widen access. */
export const WidenedSetPage = pageOf(WidenedSet);

/** The functions in a model request for one role: all that the model knows about them. */
export const ModelView = z.object({
  manifestHash: z.string(),
  functions: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      inputSchema: z.record(z.string(), z.unknown()),
      /** Which calls wait for a person. The model does not see it. */
      approval: ApprovalNeed.optional(),
      /** Estimate by size. */
      tokens: z.number(),
    }),
  ),
  /** Functions that the role may call, but the model does not see. */
  deprecated: z.array(z.string()),
  /** Number of functions that the role may not call. */
  hidden: z.number(),
});
export type ModelView = z.infer<typeof ModelView>;

/** What a function set allows more or less than an earlier access state. */
export const AccessComparison = z.object({
  manifestHash: z.string(),
  /** The function set that it is compared with; null for a lock, and for a service's first set. */
  base: z.string().nullable(),
  changes: z.array(
    z.object({
      /** `widening`: a role may call or see more. `unproven`: the comparison cannot decide. `narrowing`: everything else. */
      kind: z.enum(["widening", "unproven", "changed", "narrowing"]),
      functionName: z.string().nullable(),
      sentence: z.string(),
    }),
  ),
  /** Changes that are not listed. */
  omitted: z.number(),
});
export type AccessComparison = z.infer<typeof AccessComparison>;

/** The locks that a function set's runtimes reported, and what the set allows more or less than them. */
export const AccessLocks = z.object({
  /** One for each service whose newest runtime reported a lock. */
  locks: z.array(
    z.object({
      service: z.string(),
      /** Since when runtimes with this function set report this lock. */
      since: time,
      /** Null if this control plane cannot read the lock; `fault` is the reason. */
      comparison: AccessComparison.nullable(),
      fault: z.string().nullable(),
    }),
  ),
});
export type AccessLocks = z.infer<typeof AccessLocks>;

/** How a candidate that is connected as a shadow decides on the agent's ended calls. */
export const ShadowComparison = z.object({
  service: z.string(),
  manifestHash: z.string(),
  /** False if the candidate has disconnected: the counts end there. */
  connected: z.boolean(),
  since: time,
  /** Calls that the candidate decided on. */
  judged: z.number(),
  /** Calls skipped because the candidate was slower than the traffic. */
  dropped: z.number(),
  /** Calls that the candidate did not decide in time. */
  unanswered: z.number(),
  /** At most 500 kinds, widenings first. */
  changes: z.array(
    z.object({
      kind: z.enum(["allow", "deny"]),
      functionName: z.string(),
      role: z.string().nullable(),
      /** The decision then and the candidate's, such as `denied (authorize)`. */
      was: z.string(),
      is: z.string(),
      calls: z.number(),
      /** The newest runs, at most 3. */
      runIds: z.array(z.string()),
      lastAt: time,
    }),
  ),
});
export type ShadowComparison = z.infer<typeof ShadowComparison>;

/** Which roles use the functions that they may call, from the audit log. */
export const RightsInUse = z.object({
  manifestHash: z.string(),
  /** Beginning of the period; its first day counts as a whole. */
  since: time,
  until: time,
  /** Number of rights by verdict. A right is a function together with a role on its list. */
  counts: z.object({ used: z.number(), unused: z.number(), new: z.number() }),
  /** Unused ones first, then new ones. */
  rights: z.array(
    z.object({
      functionName: z.string(),
      role: z.string().nullable(),
      /** `new`: not called, and granted within the period. */
      verdict: z.enum(["used", "unused", "new"]),
      /** The listed roles that the role includes, through which it has the right. Absent if it includes none. */
      from: z.array(z.string()).optional(),
      calls: z.number(),
      lastUsedAt: time.nullable(),
      /** Null when no runtime has connected with it. */
      grantedDays: z.number().nullable(),
      /** True when earlier function sets, which are not stored, may have granted it too. */
      atLeast: z.boolean(),
    }),
  ),
  /** Rights that are not listed. */
  omitted: z.number(),
  /** Calls that a rule denied in the period, most first. */
  denied: z.array(
    z.object({
      functionName: z.string(),
      role: z.string().nullable(),
      rule: z.string(),
      calls: z.number(),
      lastAt: time,
    }),
  ),
  /** Calls in the whole log that role lists without the unused rights would have refused. */
  refused: z.number(),
});
export type RightsInUse = z.infer<typeof RightsInUse>;

const ofSet = { manifestHash: z.string().max(64).optional() };

/** Routes for what roles may call and see. */
export const ACCESS_ROUTES = {
  "GET /agents/:agent_id/access": readBy(
    "agents:read",
    "Which role may call which function, and why",
    ofSet,
    AccessMatrix,
  ),
  "GET /agents/:agent_id/access/services": {
    needs: "viewer",
    scopes: [["agents:read"]],
    summary: "Connected services, and why one does not serve",
    answer: z.object({ services: z.array(ServingService) }),
  },
  "GET /agents/:agent_id/access/shadow": {
    needs: "viewer",
    summary: "How a connected candidate decides on ended calls",
    answer: z.object({ shadow: ShadowComparison.nullable() }),
  },
  "GET /agents/:agent_id/access/widenings": readBy(
    "agents:read",
    "Function sets that widened access, newest first",
    paging,
    WidenedSetPage,
  ),
  "POST /agents/:agent_id/access/confirmations": {
    needs: "developer",
    scopes: [["agents:write"]],
    confirmed: true,
    summary: "Confirm a function set that widens access",
    body: z.object({ manifestHash: z.string().min(8).max(64) }),
    answer: "nothing",
  },
  "GET /agents/:agent_id/access/use": read(
    "Which roles use the functions that they may call, in the last `days` (default 90)",
    { ...ofSet, days: z.coerce.number().int().min(1).max(365).optional() },
    RightsInUse,
  ),
  "GET /agents/:agent_id/access/model-view": readBy(
    "agents:read",
    "The functions that a model receives for a role, or without one",
    { ...ofSet, role: z.string().max(200).optional() },
    ModelView,
  ),
  "GET /agents/:agent_id/access/changes": readBy(
    "agents:read",
    "What a function set allows more or less than the one before it, or than `base`",
    { ...ofSet, base: z.string().max(64).optional() },
    AccessComparison,
  ),
  "GET /agents/:agent_id/access/locks": readBy(
    "agents:read",
    "What a function set allows more or less than the locks that its runtimes reported",
    ofSet,
    AccessLocks,
  ),
  "POST /agents/:agent_id/access/lock-changes": {
    idempotency: "none",
    needs: "developer",
    scopes: [["agents:read"]],
    summary: "What a function set allows more or less than a lock file; the lock is not stored",
    body: z.object({ ...ofSet, lock: z.record(z.string(), z.unknown()) }),
    answer: AccessComparison,
  },
} as const satisfies Record<string, ConsoleRoute>;
