import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CommandFailure } from "@patchbay/loading/failure";
import { adoptCases, caseText } from "@patchbay/access-lab/search/adopt";
import type { Named } from "@patchbay/access-lab/search/dictionary";
import { type Exploration, explore } from "@patchbay/access-lab/search/explore";
import { factsOf } from "@patchbay/access-lab/search/facts";
import type { JudgeChild } from "@patchbay/access-lab/search/judge-process";
import { judgeOf } from "@patchbay/access-lab/search/judge";
import { type Dissected, findDoubts } from "@patchbay/access-lab/search/doubts";
import { openRevision } from "@patchbay/access-lab/search/revision";
import { type Comparison, compareVersions, DEFAULTS, type Difference } from "@patchbay/access-lab/search/search";
import { paint, print, printJson } from "../../output.ts";
import { launchJudge } from "../../search-child.ts";
import { anonymousLines, type Loaded, printAdopted, randomSeed, refuseAnonymous, storedValues } from "./gaps.ts";
import type { AccessOptions } from "./options.ts";

/** Search results for code that changed since a revision. */
export interface SearchedCode {
  /** The functions that no longer count as unproven, with what was searched. */
  passed: Map<string, string>;
  /** Lines on the functions that are allowed more than in the revision, or of which this is not known. */
  others: string[];
}

/** A comparison, and why it proves nothing. */
type Judged = Comparison & { doubts: string[] };

/** Searches calls that no case shows, or that a revision decides otherwise. */
export async function search(loaded: Loaded, flags: AccessOptions): Promise<void> {
  const { against, seed = randomSeed() } = flags;
  if (against === undefined) await showExploration(loaded, { ...flags, seed });
  else await showComparison(loaded, { ...flags, against, seed });
}

async function showExploration(loaded: Loaded, options: AccessOptions & { seed: number }): Promise<void> {
  const { seed, json, adopt } = options;
  const { service, files } = loaded;
  const facts = await factsOf(service, files, { known: await storedValues(loaded, options) });
  const functions = await explore({ facts, judge: judgeOf(service) }, { ...DEFAULTS, seed });
  const cases = functions.flatMap(({ functionName, found, anonymous }) =>
    [...found, ...anonymous].map((one) => ({ functionName, ...one })),
  );
  const adopted = adopt ? await adoptCases(cases, files) : undefined;
  if (json) {
    printJson({ seed, functions, ...adopted });
    return refuseAnonymous(functions);
  }
  for (const exploration of functions) print(explorationText(exploration, seed));
  if (functions.length === 0) print("No function is decided call by call, so every decision is in the table.");
  if (adopted) printAdopted(adopted, cases.length);
  else if (cases.length > 0)
    print(`Write ${cases.length === 1 ? "this call" : `these ${cases.length} calls`} as cases with --adopt.`);
  refuseAnonymous(functions);
}

function explorationText(exploration: Exploration, seed: number): string {
  const { functionName, found, neverDenied, neverAllowed } = exploration;
  const lines = [`${functionName}  ${scopeOf(exploration, seed)}`];
  for (const { call, decisions, unknownTo = [] } of found) {
    const words = Object.entries(decisions).map(([role, word]) => `${role} ${word}`);
    const unknown = unknownTo.length > 0 ? ` (no allowed call of ${unknownTo.join(", ")} has its records)` : "";
    lines.push(`  ${paint("yellow", "new")}  ${words.join(", ")}: ${caseText(call)}${unknown}`);
  }
  lines.push(...anonymousLines(exploration).map((line) => `  ${paint("red", line)}`));
  if (found.length === 0) lines.push("  Its cases show every combination of decisions that was found.");
  if (neverDenied.length > 0) lines.push(`  No call of ${neverDenied.join(", ")} was denied.`);
  if (neverAllowed.length > 0) lines.push(`  No call of ${neverAllowed.join(", ")} was allowed.`);
  return lines.join("\n");
}

interface Scope extends Pick<Comparison, "word" | "calls" | "planned" | "isUnsteady"> {
  isDeclared?: boolean;
  crossed?: number;
}

function scopeOf({ word, calls, planned, isUnsteady, isDeclared, crossed }: Scope, seed: number): string {
  const count = calls.toLocaleString("en");
  if (isDeclared) return `${paint("green", "proved")}: role lists and equal schemas decide`;
  if (word === "proved") return `${paint("green", "proved")}: ${count} calls, which are all that differ`;
  const unsteady = isUnsteady ? ", and decides the same call in two ways" : "";
  const pairs = crossed === undefined ? "" : `, ${crossed} of declared arguments with another declared context`;
  if (planned !== undefined) return `not finished: ${count} of ${planned.toLocaleString("en")} calls with seed ${seed}`;
  return `tested: ${count} calls with seed ${seed}${pairs}${unsteady}`;
}

async function showComparison(
  loaded: Loaded,
  options: AccessOptions & { against: string; seed: number },
): Promise<void> {
  const { path, files } = loaded;
  const { against, seed, json, adopt } = options;
  const known = await storedValues(loaded, options);
  await using revision = await openRevision(against, path);
  const { comparisons, facts } = await compareWith(revision.file, path, { against, seed, known });
  const cases = comparisons.flatMap(({ functionName, widenings }) =>
    widenings.map(({ call }) => ({ functionName, call })),
  );
  const present = cases.filter(({ functionName }) => Object.hasOwn(facts.functions, functionName));
  const adopted = adopt ? await adoptCases(present, files) : undefined;
  const unproven = comparisons.filter(({ doubts }) => doubts.length > 0).length;
  const ok = cases.length === 0 && unproven === 0;
  if (json) printJson({ ok, against, commit: revision.commit, seed, functions: comparisons, ...adopted });
  else for (const comparison of comparisons) print(comparisonText(comparison, seed));
  if (adopted && !json) printAdopted(adopted, present.length);
  if (ok) return;
  if (cases.length === 0)
    throw new CommandFailure(
      `${unproven === 1 ? "One function is" : `${unproven} functions are`} unproven since ${against}. Add cases, or records, with which calls reach what the reasons name.`,
    );
  const count = cases.length === 1 ? "One widening" : `${cases.length} widenings`;
  throw new CommandFailure(
    `${count} since ${against}. If intended, add the call as a case with --adopt and run --write.`,
  );
}

/**
 * Searches calls to functions whose code changed since a revision. The revision must have the `lock`, if given: what
 * its code decides is then what the lock accepted.
 */
export async function searchChangedCode(
  loaded: Loaded,
  options: AccessOptions & { against: string },
  { lock, names }: { lock?: string; names: readonly string[] },
): Promise<SearchedCode> {
  const { path } = loaded;
  const { against, seed = randomSeed() } = options;
  await using revision = await openRevision(against, path);
  const file = lock !== undefined && join(dirname(revision.file), basename(lock));
  if (file && (!existsSync(file) || !(await readFile(file)).equals(await readFile(lock))))
    throw new CommandFailure(
      `${basename(lock)} differs from the one of ${against}, so the code there is not what the lock accepted. Name the revision in which the lock was written.`,
    );
  const known = await storedValues(loaded, options);
  const { comparisons } = await compareWith(revision.file, path, { against, seed, only: names, known });
  const isPassed = ({ widenings, doubts }: Judged) => widenings.length === 0 && doubts.length === 0;
  return {
    passed: new Map(comparisons.filter(isPassed).map((one) => [one.functionName, scopeOf(one, seed)])),
    others: comparisons.filter((one) => !isPassed(one)).map((one) => comparisonText(one, seed)),
  };
}

/** Compares with the service in `file`, and finds for each function without a widening why this proves nothing. */
async function compareWith(
  file: string,
  path: string,
  { against, known, ...given }: { against: string; seed: number; known: Named; only?: readonly string[] },
): Promise<{ comparisons: Judged[]; facts: Dissected["facts"] }> {
  const options = { ...DEFAULTS, ...given };
  const sought = { known, only: given.only };
  using first = await launchJudge(file, { name: `the service of ${against}`, dissects: true, sought });
  using second = await launchJudge(path, { dissects: true, sought });
  const [before, after] = [versionOf(first, file), versionOf(second, path)];
  const comparisons: Judged[] = [];
  for (const found of await compareVersions(before, after, options))
    comparisons.push({ ...found, doubts: await findDoubts(found, { before, after }, options) });
  return { comparisons, facts: after.facts };
}

const versionOf = (child: JudgeChild, file: string): Dissected => ({
  ...child,
  dissection: child.dissection!,
  launch: (mutated) => launchJudge(file, { name: `${file} with mutants`, mutated }),
});

const NONE = "  No call that is allowed now was denied before.";
/** More reasons would hide the first ones. */
const SHOWN = 5;

function comparisonText(comparison: Judged, seed: number): string {
  const { functionName, widenings, narrowings, doubts } = comparison;
  const line = (kind: string, { roles, call, before, after }: Difference) =>
    `  ${paint(kind === "widening" ? "red" : "yellow", kind.padEnd(9))}  ${roles.join(", ")} ${after}, was ${before}: ${caseText(call)}`;
  return [
    `${functionName}  ${scopeOf(comparison, seed)}`,
    ...(widenings.length + doubts.length > 0 ? [] : [NONE]),
    ...doubts.slice(0, SHOWN).map((doubt) => `  ${paint("red", "unproven ")}  ${doubt}`),
    ...(doubts.length > SHOWN ? [`  and ${doubts.length - SHOWN} more reasons`] : []),
    ...widenings.map((difference) => line("widening", difference)),
    ...narrowings.map((difference) => line("narrowing", difference)),
  ].join("\n");
}
