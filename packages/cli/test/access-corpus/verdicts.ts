/** Prints for each edit of the service in the folder argv[3] what a search against the unchanged service says, as a line of JSON. */
import { readFile } from "node:fs/promises";
import { compareAccess, lockOf } from "@patchbay/functions/access";
import { fingerprintOf } from "@patchbay/access-lab/solve/fingerprint";
import { factsOf } from "@patchbay/access-lab/search/facts";
import { judgeOf } from "@patchbay/access-lab/search/judge";
import { type Dissected, findDoubts } from "@patchbay/access-lab/search/doubts";
import { dissect } from "@patchbay/access-lab/search/mutants";
import { compareVersions } from "@patchbay/access-lab/search/search";
import { launchJudge } from "../../src/search-child.ts";
import { editedServices } from "./edited.ts";
import type { Edit } from "./edits.ts";

/** `passed`: the command would let the change pass. */
export interface SearchVerdict {
  widenings: number;
  doubts: string[];
  passed: boolean;
}

const edits = JSON.parse(await readFile(process.argv[2]!, "utf8")) as Edit[];
await using services = editedServices(process.argv[3]);

const before = await load([]);
const base = await before.version();
for (const edit of edits) {
  const after = await load(edit.changes);
  const changes = compareAccess(before.lock, after.lock);
  const only = changes.flatMap(({ functionName, kind }) =>
    functionName && kind !== "narrowing" ? [functionName] : [],
  );
  const options = { seed: 1, checks: 12_000, timeMs: 600_000, only };
  const pair = { before: base, after: await after.version(only) };
  const verdict: SearchVerdict = { widenings: 0, doubts: [], passed: true };
  for (const found of await compareVersions(pair.before, pair.after, options)) {
    verdict.widenings += found.widenings.length;
    verdict.doubts.push(...(await findDoubts(found, pair, options)));
  }
  verdict.passed = verdict.widenings + verdict.doubts.length === 0;
  console.log(JSON.stringify(verdict));
}

async function load(changes: Edit["changes"]) {
  const { service, files, path } = await services.load(changes);
  const version = async (only?: readonly string[]): Promise<Dissected> => ({
    facts: await factsOf(service, files, { only }),
    judge: judgeOf(service),
    dissection: await dissect(service, files, only),
    launch: (mutated) => launchJudge(path, { mutated }),
  });
  return { version, lock: await lockOf(service, { fingerprint: fingerprintOf(service, files) }) };
}
