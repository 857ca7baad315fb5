import { z } from "zod";
import { RunStatus } from "../response.ts";
import { CredentialKind } from "./agents.ts";
import { indexedTo, label, time } from "./route.ts";
import { FigureSource } from "./runs.ts";
import { flag, nullableText, optionalText } from "../members.ts";

/** A run list's order; with a minus the largest first. */
export const RunSort = z.enum([
  "createdAt",
  "-createdAt",
  "durationMs",
  "-durationMs",
  "tokens",
  "-tokens",
  "costUsd",
  "-costUsd",
]);
export type RunSort = z.infer<typeof RunSort>;

/** Sums over the runs that match a filter. */
export const RunTotals = z.object({
  runs: z.number(),
  failed: z.number(),
  durationMs: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  costUsd: z.number(),
  since: time.nullable().describe("Older runs in the range were omitted, because there are too many. Null: none."),
  indexedTo,
});
export type RunTotals = z.infer<typeof RunTotals>;

/** Counts in a test export: tests, tests that need an edit, and runs without a test. */
export const TestCounts = z.object({ tests: z.number(), toEdit: z.number(), left: z.number() });
export type TestCounts = z.infer<typeof TestCounts>;

const counted = z.array(z.object({ value: z.string(), runs: z.number() }));
/** Possible filter values among the newest 20,000 runs, with run counts, the most frequent first. */
export const RunValues = z.object({
  models: counted,
  codes: counted,
  keyIds: counted,
  roles: counted,
  tags: counted.describe("Tags in feedback on the newest runs. A run counts once for each tag."),
});
export type RunValues = z.infer<typeof RunValues>;

/** Run list filters. */
export const runFilter = {
  status: RunStatus.optional(),
  role: z.string().max(200).optional(),
  noRole: z.literal("1").optional().describe("Only runs without a role."),
  /** Runs that called this function. */
  functionName: z.string().max(64).optional(),
  trouble: z
    .enum(["denied", "failed", "writes"])
    .optional()
    .describe("Runs with a call that was denied, or that failed, or that ended without an answer after a write."),
  feedback: z
    .enum(["good", "neutral", "bad", "any"])
    .optional()
    .describe("With a score above 0, equal to 0, below 0, or any feedback."),
  tag: z.string().max(64).optional().describe("With this tag in a key's or a member's feedback."),
  model: z.string().max(200).optional(),
  code: z.string().max(64).optional().describe("Why they failed."),
  source: FigureSource.optional(),
  keyId: z.string().max(128).optional(),
  requestId: z.string().max(200).optional(),
  minDurationMs: z.coerce.number().min(0).max(1e12).optional(),
  minCostUsd: z.coerce.number().min(0).max(1e6).optional(),
  sessionId: z.string().max(200).optional(),
  threadId: z.string().max(128).optional(),
  from: time.optional(),
  to: time.optional(),
  q: z
    .string()
    .max(200)
    .optional()
    .describe(
      "Words from the query, the answer or an error, the last one possibly incomplete; or the beginning of a run or thread id.",
    ),
};

/** A run list that members store under a name: search parameters for the console's run page. */
export const NewRunView = z.object({
  name: label,
  /** Shown to all members. */
  shared: z.boolean(),
  search: z
    .record(z.string().max(40), z.string().max(300))
    .refine((search) => Object.keys(search).length <= 30, "has more than 30 parameters"),
});
export const RunView = NewRunView.extend({ viewId: z.string(), own: flag("The member made it.") });
export type RunView = z.infer<typeof RunView>;

/** An item in the organisation that a search found. */
export const Found = z.object({
  kind: z.enum([
    "agent",
    "run",
    "call",
    "approval",
    "thread",
    "session",
    "view",
    "key",
    "serviceToken",
    "member",
    "function",
    "runtime",
  ]),
  id: z.string(),
  agentId: nullableText("Null for members and service tokens."),
  name: z.string(),
  at: time.nullable().describe("When a run or call started, or an approval was requested; null for others."),
  runId: optionalText("For a call or an approval."),
  search: z.record(z.string(), z.string()).optional().describe("Search parameters for a view's run page."),
  keyKind: CredentialKind.optional().describe("Of a key."),
});
export type Found = z.infer<typeof Found>;
