/** Applies each edit of a corpus to the service in the folder argv[3], and prints the differences from its lock as a line of JSON. */
import { readFile } from "node:fs/promises";
import { compareAccess, lockOf, parseLock, writeLock } from "@patchbay/functions/access";
import { fingerprintOf } from "@patchbay/access-lab/solve/fingerprint";
import { editedServices } from "./edited.ts";
import type { Edit } from "./edits.ts";

const edits = JSON.parse(await readFile(process.argv[2]!, "utf8")) as Edit[];
await using services = editedServices(process.argv[3]);

const base = parseLock(writeLock(await lockAfter([])));
for (const edit of edits) {
  const found = await lockAfter(edit.changes).then(
    (lock) => ({ changes: compareAccess(base, lock) }),
    (error: unknown) => ({ error: String(error) }),
  );
  console.log(JSON.stringify(found));
}

async function lockAfter(changes: Edit["changes"]) {
  const { service, files } = await services.load(changes);
  return await lockOf(service, { fingerprint: fingerprintOf(service, files) });
}
