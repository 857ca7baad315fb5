import type { Retention, Share, SweepOptions } from "@patchbay/engine/ports/store/upkeep";
import type { Engine } from "../engine.ts";
import { createBudget, meterOf } from "../budget.ts";
import { once, type Pass, passOf } from "../pass.ts";
import { condenseLedger, condenseUsage } from "./condense.ts";
import { sweepAudit } from "./audit.ts";
import {
  sweepClientTokens,
  sweepIdempotencyKeys,
  sweepManifests,
  sweepRequestKeys,
  sweepRateWindows,
  sweepRuns,
  sweepRuntimes,
  sweepSessions,
  sweepSignIn,
  sweepThreads,
  sweepDeliveries,
} from "./records.ts";

type Part = (engine: Engine, retention: Retention, pass: Pass) => Promise<unknown>;

/** In order: deleting rows in one part makes rows in later parts deletable. */
const PARTS: [name: string, part: Part][] = [
  ["audit", (engine, { auditDays }, pass) => sweepAudit(engine, auditDays, pass)],
  ["threads", (engine, { days }, pass) => sweepThreads(engine, days, pass)],
  ["webhook deliveries", (engine, { days }, pass) => sweepDeliveries(engine, days, pass)],
  ["sessions", (engine, { days }, pass) => sweepSessions(engine, days, pass)],
  ["runtimes", (engine, { days }, pass) => sweepRuntimes(engine, days, pass)],
  ["function sets", (engine, { days }, pass) => sweepManifests(engine, days, pass)],
  ["idempotency keys", (engine, _retention, pass) => sweepIdempotencyKeys(engine, pass)],
  ["request keys", (engine, _retention, pass) => sweepRequestKeys(engine, pass)],
  ["client tokens", (engine, _retention, pass) => sweepClientTokens(engine, pass)],
  ["rate windows", (engine, _retention, pass) => sweepRateWindows(engine, pass)],
  ["sign-in", (engine, _retention, pass) => once(pass, () => sweepSignIn(engine))],
  ["usage", (engine, { usageDays }, pass) => condenseUsage(engine, usageDays, pass)],
  ["ledger", (engine, { usageDays }, pass) => condenseLedger(engine, usageDays, pass)],
  ["file space", (engine, _retention, pass) => engine.files.shrink(pass)],
];

/** 50 ms per second, about 35 runs. The first sweep with a shorter retention soon uses 250 ms per second. */
const SHARE: Share = { least: 0.05, most: 0.25, full: 20_000 };

/**
 * Implements `Store.sweep`. Deletes in small batches with pauses, so that query commits never wait long. A part that
 * fails does not stop the others: one broken table must not let all others grow.
 */
export async function sweep(
  engine: Engine,
  { days, auditDays = 365, usageDays = 90 }: Partial<Retention> & Pick<Retention, "days">,
  { signal, failed, budget = createBudget(meterOf(engine.dialect.used), SHARE) }: SweepOptions = {},
): Promise<number> {
  let runs = 0;
  let firstError: unknown;
  const tried = async (name: string, part: (pass: Pass) => Promise<unknown>): Promise<void> => {
    if (signal?.aborted) return;
    try {
      await part(passOf(name, budget, signal));
    } catch (error) {
      firstError ??= error;
      failed?.(name, error);
    }
  };
  await tried("runs", async (pass) => (runs = await sweepRuns(engine, days, pass)));
  for (const [name, part] of PARTS) await tried(name, (pass) => part(engine, { days, auditDays, usageDays }, pass));
  if (runs > 0) engine.files.textErased();
  if (firstError !== undefined && !failed) throw firstError;
  return runs;
}
