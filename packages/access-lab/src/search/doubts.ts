import { basename } from "node:path";
import { widerPlaces } from "@patchbay/schema";
import { type Adequacy, measureAdequacy } from "./adequacy.ts";
import type { FunctionFacts } from "./facts.ts";
import type { JudgeChild } from "./judge-process.ts";
import type { Dissection, Mutant, MutatedFile } from "./mutants.ts";
import type { Comparison, SearchOptions, Version } from "./search.ts";

/** A version whose code can be changed. */
export interface Dissected extends Version {
  dissection: Dissection;
  /** Starts a process with other code for some files. */
  launch: (mutated: MutatedFile[]) => Promise<JudgeChild>;
}

interface Pair {
  before: Dissected;
  after: Dissected;
}

/**
 * Why a search without a widening does not show that a changed function allows no more. It shows that if both
 * versions gave both decisions to each role, and if the searched calls tell the changed code of both from all of its
 * mutants: they then reach each distinction of the code. Empty for a function that did not change.
 */
export async function findDoubts(
  found: Comparison,
  { before, after }: Pair,
  options: SearchOptions,
): Promise<string[]> {
  const { functionName, word, calls, planned, widenings, isUnsteady, isAccepted, isDeclared } = found;
  const [was, is] = [before, after].map(({ facts }) => facts.functions[functionName]);
  if (widenings.length > 0 || isDeclared || is === undefined) return [];
  const changed = changedForms(was?.forms ?? {}, is.forms);
  const wider = [...(was ? widerPlaces(was.input, is.input) : []), ...widerContext(before, after)];
  const gains = Object.entries(found.seen.after).some(
    ([column, letters]) => letters !== "h" && found.seen.before[column] === "h",
  );
  if (changed.forms.length === 0 && wider.length === 0 && !gains && was) return [];
  const certain = [
    ...(isUnsteady ? ["it decides the same call in two ways"] : []),
    ...changed.reads.map((source) => `its changed code reads ${source}`),
  ];
  if (word === "proved") return certain;
  if (planned !== undefined)
    certain.push(`not finished: ${calls.toLocaleString("en")} of ${planned.toLocaleString("en")} calls`);
  if (!isAccepted) return [...certain, "the schemas accept none of the calls, so nothing is known"];
  const one = [
    ...certain,
    ...unseen(found, "before", before),
    ...unseen(found, "after", after),
    ...wider.map(({ path, reason }) => `a schema accepts more${path === "" ? "" : ` at ${path}`}: ${reason}`),
  ];
  // More reasons would only take time.
  if (one.length > 0 || changed.forms.length === 0) return one;
  const versions = [before.facts, after.facts];
  const doubts: string[] = [];
  for (const [version, where] of [
    [after, ""],
    [before, " in the revision"],
  ] as const) {
    const { mutants, mutated } = version.dissection;
    const searched = mutants
      .filter(({ functionNames, forms }) => functionNames.includes(functionName) && isChanged(forms, changed))
      .map((mutant) => ({ ...mutant, functionNames: [functionName] }));
    if (searched.length === 0) continue;
    const launch = () => version.launch(mutated);
    const adequacy = await measureAdequacy(searched, launch, { ...options, versions, isBrief: true });
    doubts.push(...survived(adequacy, searched).map((doubt) => `${doubt}${where}`));
  }
  return doubts;
}

function survived({ survivors, unreached, undecided, reached }: Adequacy, searched: readonly Mutant[]): string[] {
  const at = ({ path, line }: Mutant) => `${basename(path)}:${line}`;
  const never = searched
    .filter(({ after, id }) => after === undefined && !(reached.has(id) && reached.has(-id)))
    .map((one) => `no call makes ${at(one)} ${short(one.before)} ${reached.has(one.id) ? "false" : "true"}`);
  const alive = [...survivors.map(({ mutant }) => mutant), ...unreached]
    .filter(({ after }) => after !== undefined)
    .map((one) => `no call distinguishes ${at(one)} ${short(one.before)} from ${short(one.after!)}`);
  const open = undecided.length > 0 ? [`not finished: ${undecided.length} mutants`] : [];
  return [...never, ...alive, ...open];
}

const short = (code: string) => (code.length <= 70 ? code : `${code.slice(0, 69)}…`).replaceAll(/\s+/g, " ");

interface Changed {
  forms: string[];
  /** False if something else than a function changed, such as a constant: then all code that uses it may decide otherwise. */
  isLocal: boolean;
  reads: string[];
}

function changedForms(was: FunctionFacts["forms"], is: FunctionFacts["forms"]): Changed {
  const differing = (some: FunctionFacts["forms"], others: FunctionFacts["forms"]) =>
    Object.entries(some).filter(([form]) => !Object.hasOwn(others, form));
  const all = [...differing(was, is), ...differing(is, was)];
  const isLocal = all.every(([, form]) => form.isFunction);
  const read = isLocal ? differing(is, was) : all.length > 0 ? Object.entries(is) : [];
  return { forms: all.map(([form]) => form), isLocal, reads: [...new Set(read.flatMap(([, { reads }]) => reads))] };
}

const isChanged = (forms: readonly string[], changed: Changed): boolean =>
  !changed.isLocal || forms.some((form) => changed.forms.includes(form));

function widerContext(before: Version, after: Version) {
  const [was, is] = [before.facts.context, after.facts.context];
  if (was === undefined) return [];
  return is === undefined ? [{ path: "", reason: "the context has no schema" }] : widerPlaces(was, is);
}

const DECISIONS = {
  allowed: { letters: /[ap]/, words: "an allowed call" },
  denied: { letters: /d/, words: "a denied call" },
  asked: { letters: /p/, words: "a call with an approval" },
  free: { letters: /a/, words: "a call without an approval" },
};

/** The decisions that the search did not see, with the roles. */
function unseen({ functionName, seen }: Comparison, of: "before" | "after", version: Dissected): string[] {
  const facts = version.facts.functions[functionName];
  if (facts === undefined) return [];
  const { isAuthorized, isApproved } = facts;
  const settled = version.dissection.settled[functionName]!;
  const needed: (keyof typeof DECISIONS)[] = [
    ...(isAuthorized ? (["allowed", "denied"] as const) : []),
    ...(isApproved ? (["asked", "free"] as const) : []),
  ];
  return (needed.length === 0 ? (["allowed"] as const) : needed).flatMap((name) => {
    const { letters, words } = DECISIONS[name];
    const roles = Object.entries(seen[of])
      .filter(([column, found]) => found !== "h" && !settled.includes(column) && !letters.test(found))
      .map(([column]) => column);
    const where = of === "before" ? " in the revision" : "";
    return roles.length === 0 ? [] : [`the search never saw ${words} of ${roles.join(", ")}${where}`];
  });
}
