import { describe } from "vitest";
import { accountContract } from "./contract/accounts.ts";
import { approvalContract } from "./contract/approvals.ts";
import { auditContract } from "./contract/audit.ts";
import { auditDeletionContract } from "./contract/audit-deletions.ts";
import { auditHeadContract } from "./contract/audit-heads.ts";
import { auditSealContract } from "./contract/audit-seals.ts";
import { auditUseContract } from "./contract/audit-use.ts";
import { callErrorContract } from "./contract/call-errors.ts";
import { feedbackContract } from "./contract/feedback.ts";
import { permitContract } from "./contract/permits.ts";
import { callContract } from "./contract/calls.ts";
import { callerContract } from "./contract/callers.ts";
import { claimContract } from "./contract/claims.ts";
import { consoleAgentContract } from "./contract/console-agents.ts";
import { consoleCursorContract } from "./contract/console-cursors.ts";
import { consoleFunctionContract } from "./contract/console-functions.ts";
import { consoleAuditContract } from "./contract/console-audit.ts";
import { consoleCreditContract } from "./contract/console-credits.ts";
import { breakdownContract } from "./contract/console-breakdowns.ts";
import { figureContract } from "./contract/console-figures.ts";
import { consoleLiveContract } from "./contract/console-live.ts";
import { consoleRunPartsContract } from "./contract/console-run.ts";
import { consoleRunContract } from "./contract/console-runs.ts";
import { consoleSearchContract } from "./contract/console-search.ts";
import { consoleThreadContract } from "./contract/console-threads.ts";
import { detachedCallContract } from "./contract/detached-calls.ts";
import { creditContract } from "./contract/credits.ts";
import { functionSetContract } from "./contract/function-sets.ts";
import { holderContract } from "./contract/holders.ts";
import { historyContract } from "./contract/history.ts";
import { idempotencyContract } from "./contract/idempotency.ts";
import { detachedRunsContract } from "./contract/left-runs.ts";
import { serviceTokenContract } from "./contract/service-tokens.ts";
import { linkContract } from "./contract/links.ts";
import { manifestContract } from "./contract/manifests.ts";
import { memberContract } from "./contract/members.ts";
import { momentContract } from "./contract/moments.ts";
import { raceContract } from "./contract/races.ts";
import { runWordContract } from "./contract/run-words.ts";
import { newestCallContract } from "./contract/newest-calls.ts";
import { shadowContract } from "./contract/shadows.ts";
import { openRunContract } from "./contract/open-runs.ts";
import { retryContract } from "./contract/retries.ts";
import { runFactContract } from "./contract/run-facts.ts";
import { runIndexContract } from "./contract/run-index.ts";
import { requestKeyContract } from "./contract/request-keys.ts";
import { runViewContract } from "./contract/run-views.ts";
import { retentionContract } from "./contract/retention.ts";
import { runContract } from "./contract/runs.ts";
import { runtimeContract } from "./contract/runtimes.ts";
import { suspectContract } from "./contract/suspects.ts";
import { textContract } from "./contract/texts.ts";
import { threadKeyContract } from "./contract/thread-keys.ts";
import { threadPageContract } from "./contract/thread-pages.ts";
import { threadContract } from "./contract/threads.ts";
import { violationContract } from "./contract/violations.ts";
import { upkeepContract } from "./contract/upkeep.ts";
import { widenedSetContract } from "./contract/widened-sets.ts";
import { waitingRunContract } from "./contract/waiting-runs.ts";
import { clientTokenContract } from "./contract/client-tokens.ts";
import { webhookAttemptContract } from "./contract/webhook-attempts.ts";
import { webhookContract } from "./contract/webhooks.ts";
import { writtenValueContract } from "./contract/written-values.ts";
import type { MakePlace } from "./contract/world.ts";

/** The contract suite that every store must pass, by subject. Each has a test file for SQLite and one for Postgres, which run side by side. */
export const SUBJECTS = {
  runs: {
    runs: runContract,
    "Idempotency-Keys": idempotencyContract,
    "detached runs": detachedRunsContract,
    "proven callers": callerContract,
    "retries and lists of runs": retryContract,
    claims: claimContract,
    "runs that crash": suspectContract,
    "waiting runs": waitingRunContract,
    "written values": writtenValueContract,
    holders: holderContract,
    feedback: feedbackContract,
    races: raceContract,
    "odd texts": textContract,
    "violations of invariants": violationContract,
  },
  calls: {
    "calls between replicas": callContract,
    "ended calls of an agent": newestCallContract,
    "errors of calls": callErrorContract,
    "detached calls": detachedCallContract,
    approvals: approvalContract,
    permits: permitContract,
    "moments of calls and turns": momentContract,
    "candidates that are compared": shadowContract,
    webhooks: webhookContract,
    "attempts of webhooks": webhookAttemptContract,
  },
  runtimes: {
    runtimes: runtimeContract,
    "stored function sets": manifestContract,
    "the order of function sets": functionSetContract,
    "function sets that widen access": widenedSetContract,
  },
  accounts: {
    accounts: accountContract,
    "members of the console": memberContract,
    "service tokens": serviceTokenContract,
    "client tokens": clientTokenContract,
    "one-time links of members": linkContract,
    credits: creditContract,
    "Idempotency-Keys of the console's API": requestKeyContract,
  },
  threads: {
    threads: threadContract,
    "history of threads": historyContract,
    "pages of threads": threadPageContract,
    "keys of threads": threadKeyContract,
  },
  audit: {
    "the audit log": auditContract,
    "seals of the audit log": auditSealContract,
    "deletions from the audit log": auditDeletionContract,
    "daily heads of the audit log": auditHeadContract,
    "sums of the audit log": auditUseContract,
  },
  "ended-runs": {
    "facts of ended runs": runFactContract,
    "the index of ended runs": runIndexContract,
    "runs without stored facts": openRunContract,
    "words of runs": runWordContract,
    "views of runs": runViewContract,
    retention: retentionContract,
    upkeep: upkeepContract,
  },
  console: {
    "agents in the console": consoleAgentContract,
    "functions in the console": consoleFunctionContract,
    "versions of the console's lists": consoleLiveContract,
    "runs in the console": consoleRunContract,
    "the console's search": consoleSearchContract,
    "one run in the console": consoleRunPartsContract,
    "threads and sessions in the console": consoleThreadContract,
    "figures over a time": figureContract,
    "figures of parts": breakdownContract,
    "credits over a time": consoleCreditContract,
    "the console's audit log": consoleAuditContract,
    "cursors in the console": consoleCursorContract,
  },
} satisfies Record<string, Record<string, (makePlace: MakePlace) => void>>;

export function storeContract(subject: keyof typeof SUBJECTS, makePlace: MakePlace): void {
  for (const [part, contract] of Object.entries(SUBJECTS[subject])) describe(part, () => contract(makePlace));
}
