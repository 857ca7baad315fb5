import { z } from "zod";
import { RunStatus } from "../response.ts";
import { CredentialKind } from "./agents.ts";
import { label, time } from "./route.ts";
import { FigureSource } from "./runs.ts";

/** The order of a list of runs; with a minus the largest first. */
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
  since: time
    .nullable()
    .describe("Older runs of the time asked for were left out, because there are too many. Null: none."),
});
export type RunTotals = z.infer<typeof RunTotals>;

/** What an export of tests has: tests, those of them that need an edit, and runs without a test. */
export const TestCounts = z.object({ tests: z.number(), toEdit: z.number(), left: z.number() });
export type TestCounts = z.infer<typeof TestCounts>;

const counted = z.array(z.object({ value: z.string(), runs: z.number() }));
/** Values that filters of the newest 20,000 runs can have, with the number of runs, the most frequent first. */
export const RunValues = z.object({
  models: counted,
  codes: counted,
  keyIds: counted,
  roles: counted,
  tags: counted.describe("Of feedback on the newest runs. A run counts once for each of its tags."),
});
export type RunValues = z.infer<typeof RunValues>;

/** Filters of a list of runs. */
export const runFilter = {
  status: RunStatus.optional(),
  role: z.string().max(200).optional(),
  noRole: z.literal("1").optional().describe("Only runs without a role."),
  /** Runs that called this function. */
  functionName: z.string().max(64).optional(),
  /** Runs with a call that was denied, or that failed. */
  trouble: z.enum(["denied", "failed"]).optional(),
  feedback: z
    .enum(["good", "neutral", "bad", "any"])
    .optional()
    .describe("With a score above 0, of 0, below 0, or any feedback."),
  tag: z.string().max(64).optional().describe("With this tag in the feedback of a key or a member."),
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
      "Words of the query, the answer or an error, of which the last can be the beginning of a word; or the beginning of the id of a run or a thread.",
    ),
};

/** A list of runs that members keep under a name: search parameters of the console's page of runs. */
export const NewRunView = z.object({
  name: label,
  /** Shown to all members. */
  shared: z.boolean(),
  search: z
    .record(z.string().max(40), z.string().max(300))
    .refine((search) => Object.keys(search).length <= 30, "has more than 30 parameters"),
});
export const RunView = NewRunView.extend({ viewId: z.string(), own: z.boolean().describe("The member made it.") });
export type RunView = z.infer<typeof RunView>;

/** Something of the organisation that a search found. */
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
  agentId: z.string().nullable().describe("Null for members and service tokens."),
  name: z.string(),
  at: time.nullable().describe("The start of a run or a call, or the request of an approval; null for others."),
  runId: z.string().optional().describe("Of a call or an approval."),
  search: z.record(z.string(), z.string()).optional().describe("Of a view: the parameters of the page of runs."),
  keyKind: CredentialKind.optional().describe("Of a key."),
});
export type Found = z.infer<typeof Found>;
