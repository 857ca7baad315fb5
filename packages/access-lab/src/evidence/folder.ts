import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { CommandFailure, reasonOf } from "@patchbay/loading/failure";

const SUMS = "SHA256SUMS";

export type EvidenceFolder = Awaited<ReturnType<typeof createFolder>>;

/** A new folder whose files are listed with their checksums. Throws if it has files: earlier evidence could pass for a part of the new one. */
export async function createFolder(path: string) {
  try {
    await mkdir(path, { recursive: true });
  } catch (error) {
    throw new CommandFailure(`--evidence ${path} cannot be created: ${reasonOf(error)}`);
  }
  if ((await readdir(path)).length > 0)
    throw new CommandFailure(`--evidence ${path} is not empty. Give a new folder, so that no file is of another day.`);
  const names: string[] = [];
  return {
    /** JSON for values other than texts. */
    async write(name: string, content: unknown): Promise<void> {
      names.push(name);
      await writeFile(
        join(path, name),
        typeof content === "string" ? content : `${JSON.stringify(content, null, 2)}\n`,
      );
    },

    /** Writes values as they come, each as JSON on a line, to several files. */
    async writeLines(
      lines: AsyncIterable<readonly [name: string, value: object]>,
      written: readonly string[],
    ): Promise<void> {
      names.push(...written);
      await using opened = new AsyncDisposableStack();
      const handles = new Map(
        await Promise.all(written.map(async (name) => [name, opened.use(await open(join(path, name), "wx"))] as const)),
      );
      for await (const [name, value] of lines) await handles.get(name)!.write(`${JSON.stringify(value)}\n`);
    },

    /** Writes the checksums, as `sha256sum -c` reads them, and returns all file names. */
    async seal(): Promise<string[]> {
      const sums: string[] = [];
      for (const name of names.toSorted()) sums.push(`${await sha256Of(join(path, name))}  ${name}\n`);
      await writeFile(join(path, SUMS), sums.join(""));
      return [...names, SUMS].toSorted();
    },
  };
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}
