import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, realpathSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The source folder of this version. */
export const THIS_VERSION = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** The oldest version that may serve next to this one during an upgrade: the last one before migration 0019. */
export const OLD_COMMIT = "41f6ced1db6a91aa5a817b7dadc421c543eced46";

/** False in a shallow clone, or without Git. */
export function hasCommit(commit: string): boolean {
  return spawnSync("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: THIS_VERSION }).status === 0;
}

/**
 * Writes the source of an earlier commit to a folder, which runs as it is. Its packages use each other, and the installed
 * dependencies of this version.
 */
export function writeVersion(commit: string, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const parts = ["package.json", "tsconfig.json", "packages", "test/faults/counting-service.ts"];
  const archive = execFileSync("git", ["archive", commit, ...parts], { cwd: THIS_VERSION, maxBuffer: 2 ** 28 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  for (const part of ["", ...readdirSync(join(folder, "packages")).map((name) => join("packages", name))])
    linkDependencies(part, folder);
  return folder;
}

function linkDependencies(part: string, folder: string): void {
  const modules = join(THIS_VERSION, part, "node_modules");
  const names = readdirSync(modules)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) => (name.startsWith("@") ? readdirSync(join(modules, name)).map((of) => join(name, of)) : [name]));
  for (const name of names) {
    const link = join(folder, part, "node_modules", name);
    const inside = relative(THIS_VERSION, realpathSync(join(modules, name)));
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(inside.startsWith("packages/") ? folder : THIS_VERSION, inside), link);
  }
}
