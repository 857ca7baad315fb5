import { CommandFailure } from "@patchbay/loading/failure";
import { NoAnswer, type JudgeChild } from "./judge-process.ts";
import { type Call, type Decisions, type Judge, wordOf } from "./judge.ts";
import type { ServiceFacts } from "./facts.ts";
import type { Mutant } from "./mutants.ts";
import { inTime, planOf, type SearchOptions, sidesOf } from "./search.ts";
import { shrink } from "./shrink.ts";

/** A mutant on which every declared case gives the original decision. */
export interface Survivor {
  mutant: Mutant;
  /** A call that shows the difference, if the search found one. */
  killer?: { functionName: string; call: Call; role: string; original: string; mutated: string };
}

export interface Adequacy {
  killed: number;
  survivors: Survivor[];
  /** Every call gets the original decision, so that no case could kill them. */
  equivalent: number;
  /** No call ran their code, such as code that runs while the service is loaded. */
  unreached: Mutant[];
  /** The time ended before every call was decided. */
  undecided: Mutant[];
  /** As {@link JudgeChild.reached}. */
  reached: ReadonlySet<number>;
}

/** Killed mutants, in percent of all that a case could kill. 100 without any. */
export function percentKilled({ killed, survivors }: Adequacy): number {
  const all = killed + survivors.length;
  return all === 0 ? 100 : (killed / all) * 100;
}

/** The original's decisions on calls to one function. */
interface Baseline {
  calls: Call[];
  decisions: Decisions[];
  isComplete: boolean;
}

/**
 * Judges every mutant by the declared cases, and searches a killing call for each survivor. `launch` starts a process
 * with the mutated code; a mutant that never answers is killed, and needs another process. `versions`: those whose
 * values the calls have; the killing calls are then not returned.
 */
export async function measureAdequacy(
  mutants: readonly Mutant[],
  launch: () => Promise<JudgeChild>,
  options: SearchOptions & { versions?: readonly ServiceFacts[] },
): Promise<Adequacy> {
  using state = { child: await launch(), [Symbol.dispose]: () => state.child[Symbol.dispose]() };
  const { columns, functions } = state.child.facts;
  const { versions = [state.child.facts] } = options;
  const baselines = new Map<string, Baseline>();
  const names = [...new Set(mutants.flatMap(({ functionNames }) => functionNames))];
  for (const { item: name, endsAt } of inTime(names, options.timeMs / 2)) {
    const facts = functions[name]!;
    const plan = planOf(sidesOf(name, versions), columns.length, { ...options, endsAt });
    const cases = facts.cases.map(({ input, context }) => ({ input, context }));
    const calls = [...cases, ...[...plan.batches].flat()];
    const decisions: Decisions[] = [];
    for (let i = 0; i < calls.length && (i < cases.length || performance.now() < endsAt); i += PART)
      decisions.push(...(await state.child.judge(name, columns, calls.slice(i, i + PART))));
    const isAll = decisions.length === calls.length;
    baselines.set(name, {
      calls: calls.slice(0, decisions.length),
      decisions,
      isComplete: isAll && plan.isComplete && plan.isDone(),
    });
  }
  const { reached } = state.child;
  const found: Adequacy = { killed: 0, survivors: [], equivalent: 0, unreached: [], undecided: [], reached };
  for (const { item: mutant, endsAt } of inTime(mutants, options.timeMs)) {
    if (mutant.functionNames.length === 0) {
      found.equivalent++;
      continue;
    }
    if (!reached.has(mutant.id)) {
      found.unreached.push(mutant);
      continue;
    }
    try {
      const verdict = await judgeMutant(mutant, {
        child: state.child,
        baselines,
        endsAt,
        isBrief: options.versions !== undefined,
      });
      if (verdict === "undecided") found.undecided.push(mutant);
      else if (typeof verdict === "string") found[verdict]++;
      else found.survivors.push(verdict);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      found.killed++;
      state.child[Symbol.dispose]();
      state.child = await launch();
    }
  }
  return found;
}

async function judgeMutant(
  mutant: Mutant,
  {
    child,
    baselines,
    endsAt,
    isBrief,
  }: { child: JudgeChild; baselines: ReadonlyMap<string, Baseline>; endsAt: number; isBrief: boolean },
): Promise<"killed" | "equivalent" | "undecided" | Survivor> {
  const { columns, functions } = child.facts;
  const judge = child.judgeOf(mutant.id);
  for (const name of mutant.functionNames) {
    const { cases } = functions[name]!;
    const { calls, decisions } = baselines.get(name)!;
    const decided = await judge(name, columns, calls.slice(0, cases.length));
    const isKilled = cases.some(({ roles, isCounted }, i) =>
      columns.some(
        (column, c) =>
          isCounted && (roles === undefined || roles.includes(column)) && decided[i]![c] !== decisions[i]![c],
      ),
    );
    if (isKilled) return "killed";
  }
  const isComplete = mutant.functionNames.every((name) => baselines.get(name)!.isComplete);
  let isCut = false;
  for (const functionName of mutant.functionNames) {
    const { calls, decisions } = baselines.get(functionName)!;
    for (let i = 0; i < calls.length; i += PART) {
      if (performance.now() > endsAt) {
        isCut = true;
        break;
      }
      const decided = await judge(functionName, columns, calls.slice(i, i + PART));
      const other = decided.findIndex((row, k) => row !== decisions[i + k] && !row.includes("i"));
      if (other === -1) continue;
      if (isBrief) return "killed";
      const call = await shrink(calls[i + other]!, differs(functionName, columns, child.judge, judge));
      const [[original = ""], [mutated = ""]] = [
        await child.judge(functionName, columns, [call]),
        await judge(functionName, columns, [call]),
      ];
      const c = columns.findIndex((_, k) => original[k] !== mutated[k]);
      if (c === -1) continue;
      const killer = {
        functionName,
        call,
        role: columns[c]!,
        original: wordOf(original[c]),
        mutated: wordOf(mutated[c]),
      };
      return { mutant, killer };
    }
  }
  if (isCut) return "undecided";
  return isComplete ? "equivalent" : { mutant };
}

const PART = 200;

const differs =
  (functionName: string, columns: readonly string[], original: Judge, mutated: Judge) =>
  async (call: Call): Promise<boolean> => {
    const [is = ""] = await original(functionName, columns, [call]);
    const [other = ""] = await mutated(functionName, columns, [call]);
    return is !== other && !is.includes("i");
  };

/** Throws a CommandFailure if fewer mutants than `least` percent are killed. */
export function requireAdequacy(adequacy: Adequacy, least: number): void {
  const percent = percentKilled(adequacy);
  if (percent >= least) return;
  throw new CommandFailure(
    `The cases kill ${percent.toFixed(1)} % of the mutants, fewer than the ${least} % of --min-killed. Add the cases that are shown.`,
  );
}
