import { z } from "zod";
import { label, pageOf, time } from "./paging.ts";

export const Organisation = z.object({
  orgId: z.string(),
  name: z.string(),
  tier: z.string(),
  /** Null where the tier has no limit. */
  queriesPerMinute: z.number().nullable(),
  /** False for tiers whose queries cost no credits. */
  charged: z.boolean(),
  balanceUsd: z.number(),
  agents: z.number(),
  members: z.number(),
  createdAt: time,
  /** Days that ended runs and audit entries are kept. */
  retentionDays: z.number(),
  auditDays: z.number(),
  usageDays: z.number(),
});
export type Organisation = z.infer<typeof Organisation>;

export const OrganisationChange = z.object({ name: label });

/** Credits now, what was spent on each day of the range, and how long they last at the pace of the last 7 days. */
export const Credits = z.object({
  balanceUsd: z.number(),
  charged: z.boolean(),
  /** Held for turns under way. */
  heldUsd: z.number(),
  days: z.array(z.object({ day: z.iso.date(), spentUsd: z.number(), grantedUsd: z.number(), balanceUsd: z.number() })),
  /** Null where nothing was spent, or nothing is charged. */
  daysLeft: z.number().nullable(),
});
export type Credits = z.infer<typeof Credits>;

export const LedgerKind = z.enum(["grant", "hold", "settle", "release"]);

export const LedgerEntry = z.object({
  id: z.string(),
  at: time,
  kind: LedgerKind,
  /** What it added to the balance; negative for a hold. */
  usd: z.number(),
  runId: z.string().nullable(),
  agentId: z.string().nullable(),
  step: z.number().nullable(),
});
export const LedgerPage = pageOf(LedgerEntry);
export type LedgerEntry = z.infer<typeof LedgerEntry>;
