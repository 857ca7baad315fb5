/** Prints for each edit of the service in the folder argv[3] what a search against the unchanged service says, as a line of JSON. */
import { readFile } from "node:fs/promises";
import { compareAccess, lockOf } from "@patchbay/functions/access";
import { fingerprintOf } from "@patchbay/access-lab/code/fingerprint";
import { factsOf } from "@patchbay/access-lab/search/facts";
import { judgeOf } from "@patchbay/access-lab/search/judge";
import { compareVersions, type Version } from "@patchbay/access-lab/search/search";
import { editedServices } from "./edited.ts";
import type { Edit } from "./edits.ts";

/** `passed`: the command would let the change pass. */
export interface SearchVerdict {
  widenings: number;
  passed: boolean;
}

const edits = JSON.parse(await readFile(process.argv[2]!, "utf8")) as Edit[];
await using services = editedServices(process.argv[3]);

const before = await load([]);
for (const edit of edits) {
  const after = await load(edit.changes);
  const changes = compareAccess(before.lock, after.lock);
  const only = changes.flatMap(({ functionName, kind }) =>
    functionName && kind !== "narrowing" ? [functionName] : [],
  );
  const found = await compareVersions(before.version, after.version, {
    seed: 1,
    checks: 12_000,
    timeMs: 600_000,
    only,
  });
  const verdict: SearchVerdict = {
    widenings: found.flatMap(({ widenings }) => widenings).length,
    passed: found.every(({ widenings, isUnsteady, isAccepted }) => widenings.length === 0 && !isUnsteady && isAccepted),
  };
  console.log(JSON.stringify(verdict));
}

async function load(changes: Edit["changes"]) {
  const { service, files } = await services.load(changes);
  const version: Version = { facts: factsOf(service, files), judge: judgeOf(service) };
  return { version, lock: await lockOf(service, { fingerprint: fingerprintOf(files) }) };
}
