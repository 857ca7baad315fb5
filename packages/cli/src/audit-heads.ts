import { execFile } from "node:child_process";
import { appendFile, readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { promisify } from "node:util";
import { wallMs } from "@patchbay/kit/time";
import { isoTime } from "@patchbay/kit";
import { CommandFailure, reasonOf } from "@patchbay/loading/failure";

/** Each organisation's last head in a file that `commitHeads` wrote. A missing file has none. */
export async function readHeads(file: string): Promise<Map<string, string>> {
  const text = await readFile(file, "utf8").catch(() => "");
  const lines = text.split("\n").map((line) => line.split(" "));
  return new Map(lines.flatMap(([, orgId, head]) => (orgId && head ? [[orgId, head] as const] : [])));
}

/** Appends heads to a file in a git repository, and commits only this file. */
export async function commitHeads(file: string, heads: { orgId: string; head: string | null }[]): Promise<void> {
  const at = isoTime(wallMs());
  const lines = heads.flatMap(({ orgId, head }) => (head === null ? [] : [`${at} ${orgId} ${head}\n`]));
  if (lines.length === 0) return;
  await appendFile(file, lines.join(""));
  const git = (...args: string[]) => promisify(execFile)("git", ["-C", dirname(file), ...args]);
  try {
    await git("add", "--", basename(file));
    await git("commit", "--quiet", "--message", "Record audit heads", "--", basename(file));
  } catch (error) {
    throw new CommandFailure(
      `--commit ${file}: the heads are in the file, and git did not commit it: ${reasonOf(error)}`,
    );
  }
}
