/** Prints for each pair of service folders in a list what a search says about one function, as a line of JSON. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { factsOf } from "@patchbay/access-lab/search/facts";
import { judgeOf } from "@patchbay/access-lab/search/judge";
import { type Dissected, findDoubts } from "@patchbay/access-lab/search/doubts";
import { dissect } from "@patchbay/access-lab/search/mutants";
import { compareVersions, type Difference } from "@patchbay/access-lab/search/search";
import { launchJudge } from "../../src/search-child.ts";
import { loadService } from "../../src/service-file.ts";

/** A service before and after a change of one function. */
export interface Pair {
  before: string;
  after: string;
  functionName: string;
}

export interface PairVerdict {
  widenings: Difference[];
  doubts: string[];
}

const pairs = JSON.parse(await readFile(process.argv[2]!, "utf8")) as Pair[];
for (const { before, after, functionName } of pairs) {
  const only = [functionName];
  const options = { seed: 1, checks: 12_000, timeMs: 600_000, only };
  const pair = { before: await load(before, only), after: await load(after, only) };
  const [found] = await compareVersions(pair.before, pair.after, options);
  const verdict: PairVerdict = { widenings: found!.widenings, doubts: await findDoubts(found!, pair, options) };
  console.log(JSON.stringify(verdict));
}

async function load(folder: string, only: readonly string[]): Promise<Dissected> {
  const path = join(folder, "service.ts");
  const files = new Set<string>();
  const service = await loadService(path, { onFile: (file) => files.add(file) });
  return {
    facts: await factsOf(service, files, { only }),
    judge: judgeOf(service),
    dissection: await dissect(service, files, only),
    launch: (mutated) => launchJudge(path, { mutated }),
  };
}
