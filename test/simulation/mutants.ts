import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

/** A change to the product that a test must notice. */
export interface Mutant {
  name: string;
  /** Path under `packages`. */
  file: string;
  /** Exact source text that occurs once. */
  find: string;
  replace: string;
}

export const mutant = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  file,
  find,
  replace,
});

const engine = (file: string): string => `engine/src/run/${file}`;
const LEASES = engine("worker/leases.ts");
const EXECUTOR = engine("worker/executor.ts");
const DISPATCH = engine("calls/dispatch.ts");
const JOURNAL = engine("calls/journal.ts");
const COMMIT = "store/src/runs/runs-commit.ts";
const APPROVALS = "store/src/calls/approvals.ts";
const WEBHOOKS = "store/src/webhooks.ts";
const RUNTIME_CALLS = "runtime/src/connection/calls.ts";

/** Broken recovery. A mutant that no seed finds shows an invariant, a client or a fault that the simulation lacks. */
export const MUTANTS: readonly Mutant[] = [
  mutant("lease-tripled", LEASES, "LEASE_MS = 15_000", "LEASE_MS = 45_000"),
  mutant("renewal-tripled", LEASES, "RENEW_MS = 5_000", "RENEW_MS = 15_000"),
  mutant("no-fence", COMMIT, `is({ id: runId, fence, status: "running" })`, `is({ id: runId, status: "running" })`),
  mutant(
    "acknowledged-before-commit",
    DISPATCH,
    "const { reservedMicros } = await approvals.writeDecided(active.journal, call, entry, decided);",
    `active.gateway.acknowledge(addressOf(run, call));
     const { reservedMicros } = await approvals.writeDecided(active.journal, call, entry, decided);`,
  ),
  mutant(
    "shown-before-commit",
    JOURNAL,
    "const until = entry.finish",
    "feed.publishStored(run.runId, events);\nconst until = entry.finish",
  ),
  mutant("delivered-without-asking", DISPATCH, "let recover = resumed && !decided", "let recover = false"),
  mutant("no-quarantine", "engine/src/ports/quarantine.ts", "SUSPECT_CRASHES = 2", "SUSPECT_CRASHES = 1_000"),
  mutant("suspects-left", EXECUTOR, "void this.#claims.claimSuspects()", "void Promise.resolve()"),
  mutant("never-stored", COMMIT, "if (run?.fence !== fence) return false;", "if (run?.fence !== -1) return false;"),
  mutant(
    "no-ledger-acknowledgement",
    RUNTIME_CALLS,
    "if (!this.#ledger.acknowledge(callId, attempt)) return;",
    "return;",
  ),
  mutant("no-wake-up-after-decision", APPROVALS, "await setWakeTime(trx, approval.runId);", ""),
  mutant("no-wake-up-at-expiry", EXECUTOR, "await runs.wake();", ""),
  mutant(
    "decided-twice",
    APPROVALS,
    `db.updateTable("approvals").where(is({ id: approvalId, status: "pending" }))`,
    `db.updateTable("approvals").where(is({ id: approvalId }))`,
  ),
  mutant("hold-kept", COMMIT, "if (finish) await releaseReservations(trx, run);", ""),
  mutant("event-number-reused", JOURNAL, "lastSeq += events.length;", "lastSeq += Math.min(1, events.length);"),
  mutant("cancel-forgotten-at-claim", EXECUTOR, "if (run.cancelRequested) abort.abort(cancelled());", "if (false) {}"),
  mutant(
    "reader-forgotten-at-claim",
    engine("worker/run-to-end.ts"),
    "atHand.manifest ? {} : { readerKnown: context.readers.claimed(run, signal) }",
    "{}",
  ),
  mutant(
    "older-set-preferred",
    "gateway/src/routing/serving-sets.ts",
    "if (set.place > last!.place ||",
    "if (set.place < last!.place ||",
  ),
  mutant(
    "late-result-noted-twice",
    "store/src/calls/late-calls.ts",
    "if (!(await affects(trx, unnoted.set({ late: 1 })))) return;",
    "",
  ),
  mutant("run-begun-twice", "store/src/runs/idempotency-keys.ts", "if (taken) return undefined;", "return undefined;"),
  mutant(
    "webhook-without-lease",
    WEBHOOKS,
    "next_attempt_at: inMs({ dialect }, leaseMs)",
    "next_attempt_at: dialect.now",
  ),
  mutant("webhook-refusal-accepted", "server/src/webhooks/sender.ts", "status >= 200 && status < 300", "status >= 200"),
  mutant(
    "deadline-in-waits",
    "store/src/runs/runs-claim.ts",
    "deadline_at: sql<number>`coalesce(${now} + remaining_ms, deadline_at)`,",
    "deadline_at: sql<number>`deadline_at`,",
  ),
  mutant(
    "no-wake-up-after-result",
    "store/src/calls/calls.ts",
    "if (!ended && call.runs_until !== null) await wakeRun(engine, call.run_id);",
    "",
  ),
  mutant(
    "result-dropped-at-takeover",
    "gateway/src/calls/call-tracker.ts",
    "return (await this.#deps.calls.arrivals([callId]))[0];",
    "return undefined;",
  ),
  mutant(
    "killed-runtime-awaited",
    "control-plane/src/start/background.ts",
    "repeat(() => runs.wakeLost(),",
    "repeat(async () => {},",
  ),
  mutant("permit-for-all", "store/src/calls/permits.ts", "return place !== undefined;", "return true;"),
];

/** The file's text with the change. Throws unless the mutant's text occurs in it once. */
export function mutated({ name, file, find, replace }: Mutant, text: string): string {
  const parts = text.split(find);
  if (parts.length !== 2)
    throw new Error(`Mutant ${name}: its text occurs ${parts.length - 1} times in packages/${file}.`);
  return parts.join(replace);
}

export const pathOf = ({ file }: Mutant): string => fileURLToPath(new URL(`../../packages/${file}`, import.meta.url));

/** Replaces the mutant's text in modules that are imported from now on. No file changes. */
export function applyMutant(name: string, mutants: readonly Mutant[] = MUTANTS): void {
  const one = mutants.find((known) => known.name === name);
  if (!one) throw new Error(`No mutant is named ${name}. Known: ${mutants.map((known) => known.name).join(", ")}.`);
  const path = pathOf(one);
  mutated(one, readFileSync(path, "utf8"));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.startsWith("file:") || fileURLToPath(url) !== path) return loaded;
      return { ...loaded, source: mutated(one, readFileSync(path, "utf8")) };
    },
  });
}
