/** Applies each edit of a corpus to the service in `desk`, and prints the widenings that a search finds as a line of JSON. */
import { readFile } from "node:fs/promises";
import { compareAccess, lockOf } from "@patchbay/functions/access";
import { fingerprintOf } from "@patchbay/access-lab/solve/fingerprint";
import { factsOf } from "@patchbay/access-lab/search/facts";
import { judgeOf } from "@patchbay/access-lab/search/judge";
import { compareVersions, type Version } from "@patchbay/access-lab/search/search";
import { editedServices } from "./edited.ts";
import type { Edit } from "./edits.ts";

const edits = JSON.parse(await readFile(process.argv[2]!, "utf8")) as Edit[];
await using services = editedServices(process.argv[3]);

const before = await load([]);
const base = await before.version();
for (const edit of edits) {
  const after = await load(edit.changes);
  // The others are equal, and would only take time.
  const changed = new Set(compareAccess(before.lock, after.lock).map(({ functionName }) => functionName));
  const only = [...changed].filter((name) => name !== undefined);
  const options = { seed: 1, checks: 4_000, timeMs: 600_000, only };
  const comparisons = await compareVersions(base, await after.version(only), options);
  console.log(JSON.stringify(comparisons.flatMap(({ widenings }) => widenings)));
}

async function load(changes: Edit["changes"]) {
  const { service, files } = await services.load(changes);
  const version = async (only?: readonly string[]): Promise<Version> => ({
    facts: await factsOf(service, files, { only }),
    judge: judgeOf(service),
  });
  return { version, lock: await lockOf(service, { fingerprint: fingerprintOf(service, files) }) };
}
