import { accountFaults } from "./check-accounts.ts";
import { callFaults } from "./check-calls.ts";
import { runFaults } from "./check-runs.ts";
import { countBy, largest, percentile, type Outcome } from "./figures.ts";
import type { Ending } from "./client.ts";
import type { Lab } from "./lab.ts";
import { tenantFaults } from "./check-tenants.ts";

export interface Expected {
  endings: readonly Ending[];
  /** Least number of queries that must have succeeded: a service that refuses everything keeps all other promises. */
  succeeded: number;
  /** Codes that a query may fail with. Default none. */
  mayFail?: readonly string[];
  /** Largest share of calls that failed because no runtime took them. Default 0. */
  failedShare?: number;
  /** Largest share of calls with an unknown outcome. Default 0. */
  unknownShare?: number;
}

/** Most violations shown of one kind: the first ones tell. */
const SHOWN = 5;

/**
 * Compares what clients were told, what functions did and what the database holds with what is promised of them, once every
 * query has ended.
 */
export async function check(lab: Lab, expected: Expected): Promise<Outcome> {
  const { endings, mayFail = [], failedShare = 0, unknownShare = 0 } = expected;
  await using tables = await lab.tables();
  const notes = lab.functionNotes();
  const evidence = { tables, notes, noted: lab.history.noted, lab };
  const calls = await callFaults(evidence, new Set(endings.map(({ runId = "" }) => runId)));
  const bad = endings.filter(({ kind, code = "" }) => kind !== "succeeded" && !mayFail.includes(code));
  const succeeded = endings.filter(({ kind }) => kind === "succeeded").length;
  const faults = [
    ...(await runFaults(evidence)),
    ...calls.faults,
    ...(await accountFaults(evidence)),
    ...(await tenantFaults(evidence)),
    ...bad.map(({ asked, kind, code, runId }) => `a query ${kind}: ${code ?? "no end"} (${asked.plan.id}, ${runId})`),
    ...(succeeded < expected.succeeded ? [`only ${succeeded} queries succeeded, not ${expected.succeeded}`] : []),
    ...Object.entries(calls.failed).flatMap(([code, count]) =>
      count > failedShare * calls.made ? [`${count} of ${calls.made} calls failed with ${code}`] : [],
    ),
    ...(calls.unknown > unknownShare * calls.made
      ? [`outcome unknown of ${calls.unknown} of ${calls.made} calls`]
      : []),
  ];
  const broken = endings.filter(({ breaks }) => breaks > 0);
  const times = endings.map(({ ms }) => ms);
  return {
    violations: [...Map.groupBy(faults, kindOf).values()].flatMap(firstFew),
    figures: {
      queries: endings.length,
      succeeded,
      ...prefixed(
        "failed:",
        countBy(
          endings.filter(({ kind }) => kind !== "succeeded"),
          ({ code = "none" }) => code,
        ),
      ),
      calls: calls.made,
      unknown: calls.unknown,
      ...prefixed("call:", calls.failed),
      twice: calls.twice,
      broken: broken.length,
      refused503: endings.reduce((sum, { refusals }) => sum + refusals, 0),
      p50Ms: percentile(times, 0.5),
      p99Ms: percentile(times, 0.99),
      maxMs: largest(times),
      recoveryP99Ms: percentile(
        broken.map(({ gapMs }) => gapMs),
        0.99,
      ),
    },
  };
}

/** Faults that differ in ids alone. */
const kindOf = (fault: string): string => fault.replaceAll(/\S*\d\S*/g, "#");

function firstFew(faults: string[]): string[] {
  if (faults.length <= SHOWN) return faults;
  return [...faults.slice(0, SHOWN), `… and ${faults.length - SHOWN} more like: ${faults[0]}`];
}

function prefixed(prefix: string, counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${prefix}${name}`, count]));
}
