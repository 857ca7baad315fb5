import { openStore, violations } from "@patchbay/control-plane/admin";
import { type CallFaults, callFaults } from "./check-calls.ts";
import { type Evidence, runFaults } from "./check-runs.ts";
import { countBy, largest, type Outcome, percentile } from "./figures.ts";
import type { Ending } from "./client.ts";
import type { Lab } from "./lab.ts";

export interface Expected {
  endings: readonly Ending[];
  /** Minimum number of successful queries: a service that rejects everything keeps all other guarantees. */
  succeeded: number;
  /** Codes that a query may fail with. Default none. */
  mayFail?: readonly string[];
  /** Maximum share of calls that failed because no runtime accepted them. Default 0. */
  failedShare?: number;
  /** Maximum share of calls with an unknown outcome. Default 0. */
  unknownShare?: number;
}

/** Maximum number of violations shown per kind. */
const SHOWN = 5;

/**
 * Checks the records of clients and functions and the database against the guarantees, once every query has ended.
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
    ...(await storedFaults(lab)),
    ...tenantFaults(evidence),
    ...bad.map(({ asked, kind, code, runId }) => `a query ${kind}: ${code ?? "no end"} (${asked.plan.id}, ${runId})`),
    ...(succeeded < expected.succeeded ? [`only ${succeeded} queries succeeded, not ${expected.succeeded}`] : []),
    ...Object.entries(calls.failed).flatMap(([code, count]) =>
      count > failedShare * calls.made ? [`${count} of ${calls.made} calls failed with ${code}`] : [],
    ),
    ...(calls.unknown > unknownShare * calls.made
      ? [`outcome unknown of ${calls.unknown} of ${calls.made} calls`]
      : []),
  ];
  return {
    violations: [...Map.groupBy(faults, kindOf).values()].flatMap(firstFew),
    figures: { ...(endings.length > 0 && clientFigures(endings, calls)), twice: calls.twice },
  };
}

/** What the clients of the queries received, and the outcomes of their calls. */
function clientFigures(endings: readonly Ending[], calls: CallFaults): Outcome["figures"] {
  const failed = endings.filter(({ kind }) => kind !== "succeeded");
  const broken = endings.filter(({ breaks }) => breaks > 0);
  const times = endings.map(({ ms }) => ms);
  const gaps = broken.map(({ gapMs }) => gapMs);
  return {
    queries: endings.length,
    succeeded: endings.length - failed.length,
    failed: failed.length,
    ...prefixed(
      "failed:",
      countBy(failed, ({ code = "none" }) => code),
    ),
    calls: calls.made,
    unknown: calls.unknown,
    ...prefixed("call:", calls.failed),
    broken: broken.length,
    refused503: endings.reduce((sum, { refusals }) => sum + refusals, 0),
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    maxMs: largest(times),
    recoveryP99Ms: percentile(gaps, 0.99),
  };
}

/** The first faults of each kind. Faults of one kind differ only in ids. */
const kindOf = (fault: string): string => fault.replaceAll(/\S*\d\S*/g, "#");

function firstFew(faults: string[]): string[] {
  if (faults.length <= SHOWN) return faults;
  return [...faults.slice(0, SHOWN), `… and ${faults.length - SHOWN} more like: ${faults[0]}`];
}

function prefixed(prefix: string, counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${prefix}${name}`, count]));
}

/** What the database shows, by the check that owners can run. */
async function storedFaults({ database }: Lab): Promise<string[]> {
  const store = await openStore(database, { readOnly: true });
  const { violations: found } = await violations(store).finally(() => store.close());
  return found.map(
    (one) => `${one.invariant}: expected ${one.expected}, found ${one.found} (${one.runId ?? one.orgId})`,
  );
}

/** No organisation receives rows, events, calls or results of another. */
function tenantFaults({ notes, noted, lab }: Evidence): string[] {
  const names = lab.allTenants.map(({ name }) => name);
  const others = new Map(names.map((name) => [name, names.filter((other) => other !== name)]));
  const faults: string[] = [];
  for (const { tenant, id, callId } of notes)
    if (!id.startsWith(`${tenant}.`)) faults.push(`a call reached another organisation's runtime: ${callId}`);
  for (const one of noted) {
    const text = one.kind === "event" ? one.data : one.kind === "answer" ? one.body : "";
    const tenant = one.query.slice(0, one.query.indexOf("."));
    const seen = others.get(tenant)?.find((other) => text.includes(`"${other}.`));
    if (seen !== undefined) faults.push(`a client received data of another organisation: ${one.query}`);
  }
  return faults;
}
