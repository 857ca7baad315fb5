import { canonicalJson } from "@patchbay/kit";
import { allCalls, type Side, someCalls } from "./calls.ts";
import type { ServiceFacts } from "./facts.ts";
import { type Call, type Decisions, type Judge, rankOf, wordOf } from "./judge.ts";
import { shrink } from "./shrink.ts";

export interface SearchOptions {
  seed: number;
  /** Decisions per function: calls times roles. */
  checks: number;
  /** The whole search's time. A search that needs longer fails: the number of its calls must not depend on a machine. */
  timeMs: number;
  /** The functions to compare. Default: all. */
  only?: readonly string[];
}

export const DEFAULTS: Omit<SearchOptions, "seed"> = { checks: 12_000, timeMs: 300_000 };

/** `proved`: every call that differs for the code was judged. `tested`: some calls were. */
export type Word = "proved" | "tested";

/** One version of a service and its gate. */
export interface Version {
  facts: ServiceFacts;
  judge: Judge;
}

/** A call that two versions decide differently. */
export interface Difference {
  call: Call;
  roles: string[];
  before: "allowed" | "approval" | "denied";
  after: "allowed" | "approval" | "denied";
}

export interface Comparison {
  functionName: string;
  word: Word;
  calls: number;
  /** The calls that the search had to try, if the time ended before. */
  planned?: number;
  /** The later version allows more. One call for each role, as short as the search finds. */
  widenings: Difference[];
  narrowings: Difference[];
  /** True if a service decided one call in two ways, so that nothing is proved. */
  isUnsteady: boolean;
  /** True if the schemas of both versions accepted a call. Otherwise the code behind them remains unknown. */
  isAccepted: boolean;
  /** True if the role lists and equal schemas decide, without other code. */
  isDeclared: boolean;
  /** The letters of {@link Decisions} that each version gave, by column. */
  seen: Record<"before" | "after", Record<string, string>>;
}

/** Searches calls that two service versions decide differently. */
export async function compareVersions(before: Version, after: Version, options: SearchOptions): Promise<Comparison[]> {
  const columns = [...new Set([...before.facts.columns, ...after.facts.columns])];
  const all = new Set([...Object.keys(before.facts.functions), ...Object.keys(after.facts.functions)]);
  const names = [...all].filter((name) => options.only?.includes(name) ?? true).sort();
  const comparisons: Comparison[] = [];
  for (const { item: functionName, endsAt } of inTime(names, options.timeMs))
    comparisons.push(await compareFunction(functionName, { before, after, columns }, { ...options, endsAt }));
  return comparisons;
}

interface Pair {
  before: Version;
  after: Version;
  columns: string[];
}

async function compareFunction(
  functionName: string,
  { before, after, columns }: Pair,
  options: SearchOptions & { endsAt: number },
): Promise<Comparison> {
  const ask = (calls: readonly Call[]) =>
    Promise.all([before, after].map(({ judge }) => judge(functionName, columns, calls)));
  const found: Comparison = {
    functionName,
    word: "tested",
    calls: 0,
    widenings: [],
    narrowings: [],
    isUnsteady: false,
    isAccepted: false,
    isDeclared: isDeclared(functionName, before.facts, after.facts),
    seen: { before: {}, after: {} },
  };
  const open = { widenings: new Set(columns), narrowings: new Set(columns) };
  const search = planOf(sidesOf(functionName, [before.facts, after.facts]), columns.length, options);
  for (const calls of search.batches) {
    const [old = [], now = []] = await ask(calls);
    found.calls += calls.length;
    note(found.seen.before, columns, old);
    note(found.seen.after, columns, now);
    found.isAccepted ||= calls.some((_, i) => !old[i]!.includes("i") && !now[i]!.includes("i"));
    if (search.isComplete) found.isUnsteady ||= !isEqual(await ask(calls), [old, now]);
    for (const [i, call] of calls.entries())
      for (const [c, column] of columns.entries()) {
        const rise = rankOf(now[i]![c]) - rankOf(old[i]![c]);
        const kind = rise > 0 ? "widenings" : "narrowings";
        if (rise === 0 || !open[kind].has(column)) continue;
        const isSame = async (shorter: Call) => {
          const [[was = ""] = [], [is = ""] = []] = await ask([shorter]);
          return Math.sign(rankOf(is[c]) - rankOf(was[c])) === Math.sign(rise);
        };
        const short = await shrink(call, isSame);
        const [[was = ""] = [], [is = ""] = []] = await ask([short]);
        if (wordOf(was[c]) === wordOf(is[c])) {
          found.isUnsteady = true;
          continue;
        }
        const roles = columns.filter(
          (_, other) => was[other] === was[c] && is[other] === is[c] && open[kind].delete(columns[other]!),
        );
        if (roles.length > 0) found[kind].push({ call: short, roles, before: wordOf(was[c]), after: wordOf(is[c]) });
      }
    if (open.widenings.size === 0) break;
  }
  const planned = search.missed();
  if (planned !== undefined) found.planned = planned;
  found.isDeclared &&= found.isAccepted;
  if (found.isDeclared || (search.isComplete && search.isDone() && !found.isUnsteady)) found.word = "proved";
  return found;
}

function note(seen: Record<string, string>, columns: readonly string[], rows: readonly Decisions[]): void {
  for (const row of rows)
    for (const [c, column] of columns.entries()) {
      const letters = seen[column] ?? "";
      // A call that a schema refuses does not reach the code.
      seen[column] = row[c] === "i" || letters.includes(row[c]!) ? letters : `${letters}${row[c]!}`;
    }
}

/** True if only role lists decide in both versions, and the schemas are equal: then one call shows what all calls are. */
function isDeclared(functionName: string, ...versions: ServiceFacts[]): boolean {
  const [was, is] = versions.map(({ functions, context }) => {
    const facts = functions[functionName];
    return facts?.isBounded && !facts.isConditional ? canonicalJson([facts.input, context ?? true]) : undefined;
  });
  return was !== undefined && was === is;
}

export function sidesOf(functionName: string, versions: readonly ServiceFacts[]): Side[] {
  return versions.flatMap((service) => {
    const facts = service.functions[functionName];
    return facts ? [{ service, facts }] : [];
  });
}

const BATCH = 200;

/**
 * A search's calls in parts, until its limits. `isDone` is true when no call is left. `missed` is the number of planned
 * calls, if the time ended before them.
 */
export function planOf(
  sides: readonly Side[],
  roles: number,
  { seed, checks, endsAt }: SearchOptions & { endsAt: number },
) {
  const limit = Math.max(1, Math.floor(checks / roles));
  const all = allCalls(sides, limit);
  let [isDone, isLate] = [false, false];
  function* batches(): Iterable<Call[]> {
    let [count, batch]: [number, Call[]] = [0, []];
    for (const call of all ?? someCalls(sides, seed)) {
      batch.push(call);
      count++;
      if (batch.length < BATCH && count < limit) continue;
      yield batch;
      batch = [];
      if (all === undefined && count >= limit) return;
      isLate = performance.now() > endsAt;
      if (isLate) return;
    }
    if (batch.length > 0) yield batch;
    isDone = true;
  }
  const missed = () => (isLate ? (all?.length ?? limit) : undefined);
  return { batches: batches(), isComplete: all !== undefined, isDone: () => isDone, missed };
}

/** Gives each item an equal part of the remaining time. */
export function* inTime<T>(items: readonly T[], timeMs: number): Iterable<{ item: T; endsAt: number }> {
  const end = performance.now() + timeMs;
  for (const [i, item] of items.entries()) {
    const now = performance.now();
    yield { item, endsAt: now + Math.max(0, end - now) / (items.length - i) };
  }
}

export const isEqual = (one: object, other: object): boolean => JSON.stringify(one) === JSON.stringify(other);
