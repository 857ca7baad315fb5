/** Applies each edit of a corpus to the service in `desk`, and prints the differences from its lock as a line of JSON. */
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compareAccess, lockOf, parseLock, writeLock } from "@patchbay/functions/access";
import { fingerprintOf } from "../../src/code/fingerprint.ts";
import { loadService } from "../../src/service-file.ts";
import type { Edit } from "./edits.ts";

const edits = JSON.parse(await readFile(process.argv[2]!, "utf8")) as Edit[];
const desk = fileURLToPath(new URL("desk/", import.meta.url));
const packages = ["@patchbay/functions", "zod"];
await using folders = { made: [] as string[], [Symbol.asyncDispose]: removeFolders };

const base = parseLock(writeLock(await lockAfter([])));
for (const edit of edits) {
  const found = await lockAfter(edit.changes).then(
    (lock) => ({ changes: compareAccess(base, lock) }),
    (error: unknown) => ({ error: String(error) }),
  );
  console.log(JSON.stringify(found));
}

/** The lock of the service after some changes. Each is in a folder of its own, because Node.js imports a file once. */
async function lockAfter(changes: Edit["changes"]) {
  const folder = await mkdtemp(join(tmpdir(), "corpus-"));
  folders.made.push(folder);
  await cp(desk, folder, { recursive: true });
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  for (const [file, from, to] of changes) {
    const path = join(folder, `${file}.ts`);
    const text = await readFile(path, "utf8");
    if (text.split(from).length !== 2)
      throw new Error(`${file} has the text ${text.split(from).length - 1} times: ${from}`);
    await writeFile(
      path,
      text.replace(from, () => to),
    );
  }
  const service = join(folder, "service.ts");
  let text = await readFile(service, "utf8");
  for (const one of packages) text = text.replace(`"${one}"`, JSON.stringify(fileURLToPath(import.meta.resolve(one))));
  await writeFile(service, text);
  const files = new Set<string>();
  return await lockOf(await loadService(service, (file) => files.add(file)), { fingerprint: fingerprintOf(files) });
}

async function removeFolders(): Promise<void> {
  for (const folder of folders.made) await rm(folder, { recursive: true, force: true });
}
