import { z } from "zod";
import { type ConsoleRoute, time } from "./route.ts";

const named = z.string().min(1).max(200);

/** Asks for the evidence on a service's functions and roles. */
export const EvidenceRequest = z.object({
  functions: z.array(z.object({ name: named, roles: z.union([z.literal("everyone"), z.array(named)]) })).max(2_000),
  roles: z.array(named).optional(),
  defaultRole: named.optional(),
  since: named.describe("A time, or a duration before now, such as 90d."),
  keep: z.array(named).optional().describe("Roles and functions that stay although unused."),
  sample: z.int().min(0).max(1_000).optional().describe("How many runs to add with their whole trace."),
  seed: z.int().min(0).max(4_294_967_295).optional().describe("Chooses the runs."),
});

/** The access in force, and its last sign-off by a member. */
export const AccessReview = z.object({
  /** Each service's newest set that is connected and does not wait for a confirmation. `lock`: the SHA-256 of its lock. */
  sets: z.array(z.object({ service: z.string(), manifestHash: z.string(), lock: z.string().nullable() })),
  /** Null before the first sign-off. `by`: the member's name. */
  signed: z.object({ by: z.string(), at: time, dueAt: time }).nullable(),
  /** Services whose set or lock in force is not the signed one. */
  changed: z.array(z.string()),
  /** True when the next review is due. */
  isDue: z.boolean(),
});
export type AccessReview = z.infer<typeof AccessReview>;

/** Routes for what auditors keep. */
export const EVIDENCE_ROUTES = {
  "GET /agents/:agent_id/access/review": {
    needs: "viewer",
    summary: "The access in force, and when a member last signed it off",
    answer: AccessReview,
  },
  "POST /agents/:agent_id/access/reviews": {
    needs: "developer",
    summary: "Sign off the access in force; `manifestHash` is the reviewed set, `days` the time until the next review",
    body: z.object({ manifestHash: z.string().max(64), days: z.int().min(1).max(3_650) }),
    answer: "nothing",
  },
  "POST /agents/:agent_id/access/evidence": {
    idempotency: "none",
    needs: "viewer",
    scopes: [["audit:read"]],
    summary: "Rights that roles used, and the sealed audit log, as NDJSON; `calls:content` permits a sample of runs",
    body: EvidenceRequest,
    answer: "file",
  },
} as const satisfies Record<string, ConsoleRoute>;
