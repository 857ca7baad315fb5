import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadService } from "../../src/service-file.ts";
import type { Edit } from "./edits.ts";

const packages = ["@patchbay/functions", "zod"];

/**
 * Loads the service in the folder `base` after some changes. Each is in a folder of its own, because Node.js imports a
 * file once.
 */
export function editedServices(base = "desk") {
  const desk = fileURLToPath(new URL(`${base}/`, import.meta.url));
  const folders: string[] = [];
  return {
    async load(changes: Edit["changes"]) {
      const folder = await mkdtemp(join(tmpdir(), "corpus-"));
      folders.push(folder);
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
      const path = join(folder, "service.ts");
      let text = await readFile(path, "utf8");
      for (const one of packages)
        text = text.replace(`"${one}"`, JSON.stringify(fileURLToPath(import.meta.resolve(one))));
      await writeFile(path, text);
      const files = new Set<string>();
      const service = await loadService(path, { onFile: (file) => files.add(file) });
      return { service, files, path };
    },
    async [Symbol.asyncDispose]() {
      for (const folder of folders) await rm(folder, { recursive: true, force: true });
    },
  };
}
