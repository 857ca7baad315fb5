/** Prints for each service of a list whether an edit changes the fingerprint of its `authorize`, and whether a comment does, as a line of JSON. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { fingerprintOf } from "@patchbay/access-lab/solve/fingerprint";
import { defineFunction, defineService } from "@patchbay/functions";
import { loadOwnersFiles } from "@patchbay/loading/module-hooks";
import type { Hole } from "./holes.ts";

const holes = JSON.parse(await readFile(process.argv[2]!, "utf8")) as Hole[];
await using folders = { made: [] as string[], [Symbol.asyncDispose]: removeFolders };

for (const { files, edit } of holes) {
  const [file, from, to] = edit;
  const text = files[file]!;
  if (text.split(from).length !== 2)
    throw new Error(`${file} has the text ${text.split(from).length - 1} times: ${from}`);
  const before = await fingerprintWith(files);
  const after = await fingerprintWith({ ...files, [file]: text.replace(from, () => to) });
  const isFound = !after!.split(" ").some((print) => before!.includes(print));
  const commented = `// A comment.\n${files["service.js"]}`;
  const isStable = before === (await fingerprintWith({ ...files, "service.js": commented }));
  console.log(JSON.stringify({ isFound, isStable }));
}

/** Each is in a folder of its own, because Node.js imports a file once. */
async function fingerprintWith(files: Hole["files"]): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), "holes-"));
  folders.made.push(folder);
  for (const [name, text] of Object.entries({ "package.json": '{ "type": "module" }', ...files })) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const loaded = new Set<string>();
  loadOwnersFiles((path) => loaded.add(path));
  const { authorize } = (await import(pathToFileURL(join(folder, "service.js")).href)) as { authorize: () => true };
  const input = { type: "object" };
  const only = defineFunction({ name: "f", description: "F.", input, roles: ["boss"], authorize, handler: () => 1 });
  const service = defineService({ name: "holes", functions: [only] });
  return fingerprintOf(service, loaded)([{ run: authorize, isWrapped: false }]);
}

async function removeFolders(): Promise<void> {
  for (const folder of folders.made) await rm(folder, { recursive: true, force: true });
}
