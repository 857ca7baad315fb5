import { execFile } from "node:child_process";
import { basename, dirname } from "node:path";
import { promisify } from "node:util";
import { VERSION } from "@patchbay/protocol";

/** Versions for the evidence: the tools that wrote it, and the service file. */
export async function versionsOf(path: string) {
  const git = async (...args: string[]): Promise<string | null> =>
    promisify(execFile)("git", args, { cwd: dirname(path) }).then(
      ({ stdout }) => stdout.trim(),
      () => null,
    );
  const changed = await git("status", "--porcelain");
  return {
    patchbay: VERSION,
    node: process.version,
    file: basename(path),
    commit: await git("rev-parse", "HEAD"),
    /** Null without git. */
    hasUncommittedChanges: changed === null ? null : changed !== "",
    writtenAt: new Date().toISOString(),
  };
}

export type Versions = Awaited<ReturnType<typeof versionsOf>>;
