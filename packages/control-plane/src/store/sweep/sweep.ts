import type { Retention, SweepOptions } from "../../ports/retention.ts";
import type { Engine } from "../engine.ts";
import { sweepClientTokens } from "../client-tokens.ts";
import { condenseLedger, condenseUsage } from "./condense.ts";
import { sweepAudit } from "./audit.ts";
import {
  sweepIdempotencyKeys,
  sweepManifests,
  sweepRateWindows,
  sweepRuns,
  sweepRuntimes,
  sweepSessions,
  sweepSignIn,
  sweepThreads,
  sweepDeliveries,
} from "./records.ts";

type Part = (engine: Engine, retention: Retention, signal: AbortSignal | undefined) => Promise<unknown>;

/** In order: deleting the rows of one part makes rows of later parts deletable. */
const PARTS: [name: string, part: Part][] = [
  ["audit", (engine, { auditDays }, signal) => sweepAudit(engine, auditDays, signal)],
  ["threads", (engine, { days }, signal) => sweepThreads(engine, days, signal)],
  ["webhook deliveries", (engine, { days }, signal) => sweepDeliveries(engine, days, signal)],
  ["sessions", (engine, { days }, signal) => sweepSessions(engine, days, signal)],
  ["runtimes", (engine, { days }, signal) => sweepRuntimes(engine, days, signal)],
  ["function sets", (engine, { days }, signal) => sweepManifests(engine, days, signal)],
  ["idempotency keys", (engine, _retention, signal) => sweepIdempotencyKeys(engine, signal)],
  ["client tokens", (engine, _retention, signal) => sweepClientTokens(engine, signal)],
  ["rate windows", (engine, _retention, signal) => sweepRateWindows(engine, signal)],
  ["sign-in", (engine) => sweepSignIn(engine)],
  ["usage", (engine, { usageDays }, signal) => condenseUsage(engine, usageDays, signal)],
  ["ledger", (engine, { usageDays }, signal) => condenseLedger(engine, usageDays, signal)],
  ["file space", (engine, _retention, signal) => engine.files.shrink(signal)],
];

/**
 * Implements `Store.sweep`. Deletes in small batches, so that the commits of queries never wait long. A part that fails does
 * not stop the others: one broken table must not let all others grow.
 */
export async function sweep(
  engine: Engine,
  { days, auditDays = 365, usageDays = 90 }: Partial<Retention> & Pick<Retention, "days">,
  { signal, failed }: SweepOptions = {},
): Promise<number> {
  let runs = 0;
  let firstError: unknown;
  const tried = async (name: string, part: () => Promise<unknown>): Promise<void> => {
    if (signal?.aborted) return;
    try {
      await part();
    } catch (error) {
      firstError ??= error;
      failed?.(name, error);
    }
  };
  await tried("runs", async () => (runs = await sweepRuns(engine, days, signal)));
  for (const [name, part] of PARTS) await tried(name, () => part(engine, { days, auditDays, usageDays }, signal));
  if (runs > 0) engine.files.textErased();
  if (firstError !== undefined && !failed) throw firstError;
  return runs;
}
