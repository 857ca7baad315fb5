import { z } from "zod";
import type { ConsoleRoute } from "./route.ts";

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

/** Routes for what auditors keep. */
export const EVIDENCE_ROUTES = {
  "POST /agents/:agent_id/access/evidence": {
    idempotency: "none",
    needs: "viewer",
    scopes: [["audit:read"]],
    summary: "Rights that roles used, and the sealed audit log, as NDJSON; `calls:content` permits a sample of runs",
    body: EvidenceRequest,
    answer: "file",
  },
} as const satisfies Record<string, ConsoleRoute>;
