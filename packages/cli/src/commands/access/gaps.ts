import { randomInt } from "node:crypto";
import type { JsonValue } from "@patchbay/kit";
import { CommandFailure } from "@patchbay/loading/failure";
import type { Service } from "@patchbay/functions";
import { adoptCases, caseText, type NewCase } from "@patchbay/access-lab/search/adopt";
import { measureAdequacy, percentKilled, requireAdequacy, type Survivor } from "@patchbay/access-lab/search/adequacy";
import { type Named, namedIn } from "@patchbay/access-lab/search/dictionary";
import { type Exploration, explore } from "@patchbay/access-lab/search/explore";
import { short } from "@patchbay/access-lab/search/doubts";
import { factsOf } from "@patchbay/access-lab/search/facts";
import { judgeOf } from "@patchbay/access-lab/search/judge";
import { mutantsOf } from "@patchbay/access-lab/search/mutants";
import { DEFAULTS } from "@patchbay/access-lab/search/search";
import { paint, print, printJson } from "../../output.ts";
import { launchJudge } from "../../search-child.ts";
import { nearPath } from "../../service-file.ts";
import type { AccessOptions } from "./options.ts";
import { withCalls } from "./records.ts";

/** A loaded service and the owner's files. */
export interface Loaded {
  path: string;
  service: Service;
  files: ReadonlySet<string>;
}

export const randomSeed = () => randomInt(2 ** 32);

/** Values of the stored calls that --from-runs names. */
export async function storedValues({ service }: Loaded, options: AccessOptions): Promise<Named> {
  const { fromRuns } = options;
  if (fromRuns === undefined) return {};
  return await withCalls(service, options, fromRuns, async (calls) => {
    const values: JsonValue[] = [];
    for await (const call of calls) values.push(call.arguments, call.context);
    return namedIn(values);
  });
}

/** Throws a CommandFailure for calls without an identity, or with an unknown id, that no case declares. */
export function refuseAnonymous(functions: readonly Exploration[]): void {
  const names = functions.filter(({ anonymous }) => anonymous.length > 0).map(({ functionName }) => functionName);
  if (names.length === 0) return;
  throw new CommandFailure(
    `Anonymous calls of ${names.join(", ")}: without an identity, or with an id that no record has, a role may do what it may not do otherwise. Compare identities only if both are defined, or declare the call as a case.`,
  );
}

export const anonymousLines = ({ functionName, anonymous }: Exploration): string[] =>
  anonymous.map(
    ({ call, roles, kind = "anonymous" }) => `${kind}  ${roles.join(", ")} may call ${functionName}: ${caseText(call)}`,
  );

/** Explores with fewer calls than the search, for a command that has another subject. */
async function exploreBriefly(loaded: Loaded, options: AccessOptions): Promise<Exploration[]> {
  const { service, files } = loaded;
  const { seed = randomSeed() } = options;
  const facts = await factsOf(service, files, { known: await storedValues(loaded, options) });
  return await explore({ facts, judge: judgeOf(service) }, { ...DEFAULTS, checks: 3_000, seed });
}

/** What `--strict` asks of cases besides a refused one: lines on anonymous calls, and on restricted roles without an allowed or a denied case. */
export async function findUntested(loaded: Loaded, options: AccessOptions): Promise<string[]> {
  const functions = await exploreBriefly(loaded, options);
  return functions.flatMap((one) => [
    ...anonymousLines(one),
    ...one.untested.map(({ role, decision }) => `untested   ${one.functionName} has no ${decision} case of ${role}`),
  ]);
}

/** Shows how many mutants of the authorize code the cases find. */
export async function showAdequacy(loaded: Loaded, options: AccessOptions): Promise<void> {
  const { path, service, files } = loaded;
  const functions = await exploreBriefly(loaded, options);
  const { seed = randomSeed(), json, adopt, minKilled } = options;
  const known = await storedValues(loaded, options);
  const { mutants, mutated } = mutantsOf(service, files);
  const launch = () => launchJudge(path, { name: `${path} with mutants`, mutated, sought: { known } });
  const adequacy = await measureAdequacy(mutants, launch, { ...DEFAULTS, checks: 3_000, seed });
  const { killed, survivors, equivalent, unreached, undecided } = adequacy;
  const percent = percentKilled(adequacy);
  const explored = new Map(functions.map((one) => [one.functionName, one]));
  const cases = survivors.flatMap(({ killer }): NewCase[] =>
    killer ? [{ ...killer, unknownTo: explored.get(killer.functionName)?.unknownTo(killer.call) }] : [],
  );
  const adopted = adopt ? await adoptCases(distinct(cases), files) : undefined;
  const counts = { killed, equivalent, unreached: unreached.length, undecided: undecided.length };
  if (json) printJson({ seed, percent, ...counts, survivors, ...adopted });
  else {
    for (const survivor of survivors) print(survivorText(survivor));
    for (const line of functions.flatMap(anonymousLines)) print(paint("red", line));
    const rest = [
      ...(equivalent > 0 ? [`${equivalent} decide every call as the original`] : []),
      ...(undecided.length > 0 ? [`the time ended before ${undecided.length} were decided`] : []),
      ...(unreached.length > 0 ? [`no call runs the code of ${unreached.length}`] : []),
    ];
    const left = rest.length > 0 ? ` Not counted: ${rest.join(", ")}.` : "";
    print(
      `The cases kill ${killed} of ${killed + survivors.length} mutants (${percent.toFixed(1)} %), seed ${seed}.${left}`,
    );
    if (adopted) printAdopted(adopted, distinct(cases).length);
  }
  if (minKilled === undefined) return;
  requireAdequacy(adequacy, minKilled);
  refuseAnonymous(functions);
}

function survivorText({ mutant, killer }: Survivor): string {
  const { path, line, before, after, functionNames } = mutant;
  const head = `${paint("red", "survived")}  ${nearPath(path)}:${line}  ${short(before)}  →  ${short(after!)}`;
  if (!killer) return `${head}\n  No call of ${functionNames.join(", ")} was found that shows the difference.`;
  const { functionName, role, original, mutated, call } = killer;
  return `${head}\n  ${functionName} as ${role} is ${mutated} instead of ${original} with ${caseText(call)}`;
}

const distinct = (cases: readonly NewCase[]): NewCase[] => [
  ...new Map(cases.map((one) => [JSON.stringify([one.functionName, one.call]), one])).values(),
];

export function printAdopted({ files, left, unknown }: Awaited<ReturnType<typeof adoptCases>>, count: number): void {
  const written = count - left.length;
  if (written > 0)
    print(
      `Wrote ${written === 1 ? "one case" : `${written} cases`} to ${files.join(", ")}. Check that each decision is intended, then run --write.`,
    );
  if (unknown > 0)
    print(
      `Named unknown1 and so on: ${unknown} whose records do not exist, because no allowed call has them. They are not counted as cases. Write the ids of records that exist, and rename them.`,
    );
  for (const { functionName, call } of left)
    print(`The cases of ${functionName} are not an object in its definition. Add: ${caseText(call)}`);
}
