import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryFolder } from "../support/command.ts";
import type { Edit } from "./edits.ts";

/** All edits in `.ci/full`, every fourth otherwise: a minute of CPU time for edits that rarely change. */
export const sampled = (edits: readonly Edit[]): readonly Edit[] =>
  process.env["PATCHBAY_TEST_ROWS"] === "all" ? edits : edits.filter((_, i) => i % 4 === 0);

/** The line of JSON that a script of this folder prints for each row, such as an edit of the service in the folder `base`. */
export async function linesOf<T>(script: string, rows: readonly object[], base = "desk"): Promise<T[]> {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "edits.json");
  await writeFile(file, JSON.stringify(rows));
  const path = fileURLToPath(new URL(script, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [path, file, base], { maxBuffer: 64 * 1024 * 1024 });
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as T);
}
