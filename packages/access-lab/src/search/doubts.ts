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

/**
 * Why a search without a widening does not show that a changed function allows no more. It shows that if both
 * versions gave both decisions to each role, and if the searched calls tell the changed code of both from all of its
 * mutants: they then reach each distinction of the code. Empty for a function that did not change.
 */
export async function findDoubts(
  found: Comparison,
  { before, after }: Record<"before" | "after", Dissected>,
  options: SearchOptions,
): Promise<string[]> {
  const { functionName, word, calls, planned, widenings, isUnsteady, isAccepted, isDeclared } = found;
  const [was, is] = [before, after].map(({ facts }) => facts.functions[functionName]);
  if (widenings.length > 0 || isDeclared || is === undefined) return [];
  const isSame = was?.decision !== undefined && was.decision === is.decision;
  const changed = changedForms(isSame ? is.forms : (was?.forms ?? {}), is.forms);
  const [context, contextNow] = [before.facts.context ?? {}, after.facts.context ?? {}];
  const wider = [...(was ? widerPlaces(was.input, is.input) : []), ...widerPlaces(context, contextNow)];
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
    const adequacy = await measureAdequacy(searched, launch, { ...options, versions });
    doubts.push(...survived(adequacy, searched).map((doubt) => `${doubt}${where}`));
  }
  return doubts;
}

function survived({ survivors, unreached, undecided, reached }: Adequacy, searched: readonly Mutant[]): string[] {
  const at = ({ path, line }: Mutant) => `${basename(path)}:${line}`;
  const never = searched
    .filter(({ after }) => after === undefined)
    .flatMap((one) =>
      [true, false]
        .filter(
          (truth) => one.open.includes(`${one.functionNames[0]} ${truth}`) && !reached.has(truth ? one.id : -one.id),
        )
        .map((truth) => `no call makes ${at(one)} ${short(one.before)} ${truth}`),
    );
  const alive = [...survivors.map(({ mutant }) => mutant), ...unreached]
    .filter(({ after }) => after !== undefined)
    .map((one) => `no call distinguishes ${at(one)} ${short(one.before)} from ${short(one.after!)}`);
  return [...never, ...alive, ...(undecided.length > 0 ? [`not finished: ${undecided.length} mutants`] : [])];
}

/** Code in one line of a message. */
export const short = (code: string) => (code.length <= 70 ? code : `${code.slice(0, 69)}…`).replaceAll(/\s+/g, " ");

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

/** The decisions that the search did not see, with the roles. */
function unseen({ functionName, seen }: Comparison, of: "before" | "after", version: Dissected): string[] {
  const facts = version.facts.functions[functionName];
  if (facts === undefined) return [];
  const { isAuthorized, isApproved } = facts;
  const settled = version.dissection.settled[functionName]!;
  const needed = [
    { isNeeded: isAuthorized || !isApproved, letters: /[ap]/, words: "an allowed call" },
    { isNeeded: isAuthorized, letters: /d/, words: "a denied call" },
    { isNeeded: isApproved, letters: /p/, words: "a call with an approval" },
    { isNeeded: isApproved, letters: /a/, words: "a call without an approval" },
  ];
  return needed.flatMap(({ isNeeded, letters, words }) => {
    const blind = ([column, found]: [string, string]) =>
      isNeeded && found !== "h" && !settled.includes(column) && !letters.test(found);
    const roles = Object.entries(seen[of])
      .filter(blind)
      .map(([column]) => column);
    const where = of === "before" ? " in the revision" : "";
    return roles.length === 0 ? [] : [`the search never saw ${words} of ${roles.join(", ")}${where}`];
  });
}
