import { canonicalJson, present } from "@patchbay/kit";
import type { ServiceFacts } from "./facts.ts";
import { type Call, type Decisions, wordOf } from "./judge.ts";
import { allows, anonymousContexts, type Tried, unknownIdsIn } from "./anonymous.ts";
import { inTime, isEqual, planOf, type SearchOptions, sidesOf, type Version, type Word } from "./search.ts";
import { recordFinder } from "./records.ts";
import { shrink } from "./shrink.ts";

/** A call whose decisions no declared case has. */
export interface NewVerdict {
  call: Call;
  /** By role, without roles that the role list refuses. */
  decisions: Record<string, "allowed" | "approval" | "denied">;
  /** Its records do not exist: no call with one of its texts is allowed for these roles, which may make others. */
  unknownTo?: string[];
}

export interface Exploration {
  functionName: string;
  word: Word;
  calls: number;
  planned?: number;
  /** Declared arguments with declared contexts that no case combines. */
  crossed: number;
  found: NewVerdict[];
  /** Roles without a denied call, and roles without an allowed one. */
  neverDenied: string[];
  neverAllowed: string[];
  /**
   * Calls without an identity that a role may make although the same arguments with one are denied, and calls with an
   * id that no record has. Without declared cases.
   */
  anonymous: { call: Call; roles: string[]; kind?: "unknown id" }[];
  /** Roles with both decisions of which no case has one. */
  untested: { role: string; decision: "allowed" | "denied" }[];
  isUnsteady: boolean;
  /** As in {@link NewVerdict}, for any call. Undefined if its records exist. */
  unknownTo: (call: Call) => string[] | undefined;
}

/** Searches calls whose decisions no declared case shows, for each function that is decided call by call. */
export async function explore(version: Version, options: SearchOptions): Promise<Exploration[]> {
  const names = Object.keys(version.facts.functions)
    .filter((name) => version.facts.functions[name]!.isConditional)
    .sort();
  const found: Exploration[] = [];
  for (const { item, endsAt } of inTime(names, options.timeMs))
    found.push(await exploreFunction(item, version, { ...options, endsAt }));
  return found;
}

/** Most verdicts for one function. More hide the important ones. */
const MOST_FOUND = 10;

async function exploreFunction(
  functionName: string,
  version: Version,
  options: SearchOptions & { endsAt: number },
): Promise<Exploration> {
  const { facts, judge } = version;
  const { columns } = facts;
  const { cases, inputs } = facts.functions[functionName]!;
  const declared = await judge(functionName, columns, cases);
  const known = new Set(declared);
  const tried: Tried[] = [];
  const letters = columns.map(() => new Set<string>());
  const found: Exploration["found"] = [];
  let [count, isUnsteady] = [0, false];
  const search = planOf(sidesOf(functionName, [facts]), columns.length, options);
  for (const calls of search.batches) {
    const decided = await judge(functionName, columns, calls);
    count += calls.length;
    if (search.isComplete) isUnsteady ||= !isEqual(await judge(functionName, columns, calls), decided);
    for (const [i, call] of calls.entries()) {
      const decisions = decided[i]!;
      if (decisions.includes("i")) continue;
      tried.push({ call, decisions });
      for (const [c, seen] of letters.entries()) seen.add(decisions[c]!);
      if (known.has(decisions) || found.length >= MOST_FOUND) continue;
      const short = await shrink(
        call,
        async (shorter) => (await judge(functionName, columns, [shorter]))[0] === decisions,
      );
      known.add(decisions);
      found.push({ call: short, decisions: wordsOf(columns, decisions) });
    }
  }
  const only = (refused: boolean) =>
    columns.filter((_, c) => {
      const seen = [...letters[c]!].filter((letter) => letter !== "h");
      return seen.length > 0 && seen.every((letter) => (letter === "d") === refused);
    });
  const unknownTo = recordFinder(tried, columns, facts.functions[functionName]!);
  return {
    functionName,
    word: search.isComplete && search.isDone() && !isUnsteady ? "proved" : "tested",
    calls: count,
    crossed: Math.max(0, inputs.length * facts.contexts.length - cases.length),
    found: found.map((one) => ({ ...one, ...present({ unknownTo: unknownTo(one.call) }) })),
    unknownTo,
    anonymous: [
      ...(await anonymousIn(tried, { functionName, version, declared })),
      ...(await unknownIdsIn(tried, { functionName, version })),
    ],
    untested: untestedIn(functionName, { facts, declared, letters }),
    neverDenied: only(false),
    neverAllowed: only(true),
    isUnsteady,
    ...present({ planned: search.missed() }),
  };
}

/** Contexts with which a call without one is compared. */
const MOST_CONTEXTS = 20;

async function anonymousIn(
  tried: readonly Tried[],
  { functionName, version, declared }: { functionName: string; version: Version; declared: readonly Decisions[] },
): Promise<Exploration["anonymous"]> {
  const { columns, functions } = version.facts;
  const { cases } = functions[functionName]!;
  const isAnonymous = anonymousContexts(version.facts);
  const covers = (c: number) =>
    cases.some(
      (one, i) => isAnonymous(one.context) && (one.roles?.includes(columns[c]!) ?? true) && allows(declared[i]![c]),
    );
  const open = new Set(columns.keys().filter((c) => !covers(c)));
  const named = tried.filter(({ call }) => !isAnonymous(call.context)).map(({ call }) => call.context);
  const contexts = [...new Map(named.map((one) => [canonicalJson(one), one])).values()].slice(0, MOST_CONTEXTS);
  const found: Exploration["anonymous"] = [];
  for (const { call, decisions } of tried) {
    const own = [...open].filter((c) => isAnonymous(call.context) && allows(decisions[c]));
    if (own.length === 0) continue;
    const calls = contexts.map((context) => ({ input: call.input, context }));
    const others = await version.judge(functionName, columns, calls);
    const wider = own.filter((c) => others.some((row) => row[c] === "d") && open.delete(c));
    if (wider.length > 0) found.push({ call, roles: wider.map((c) => columns[c]!) });
  }
  return found;
}

function untestedIn(
  functionName: string,
  {
    facts,
    declared,
    letters,
  }: { facts: ServiceFacts; declared: readonly Decisions[]; letters: readonly Set<string>[] },
): Exploration["untested"] {
  const { cases } = facts.functions[functionName]!;
  return facts.columns.flatMap((role, c) =>
    (["allowed", "denied"] as const).flatMap((decision) => {
      const is = (letter: string | undefined) => (decision === "denied" ? letter === "d" : allows(letter));
      const isRestricted = letters[c]!.has("d") && [...letters[c]!].some(allows);
      const isTested = cases.some(
        (one, i) => one.isCounted && (one.roles?.includes(role) ?? true) && is(declared[i]![c]),
      );
      return isRestricted && !isTested ? [{ role, decision }] : [];
    }),
  );
}

function wordsOf(columns: readonly string[], decisions: Decisions): NewVerdict["decisions"] {
  const shown = columns.flatMap((column, c) => (decisions[c] === "h" ? [] : [[column, wordOf(decisions[c])] as const]));
  return Object.fromEntries(shown);
}
