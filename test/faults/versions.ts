import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The source folder of this version. */
export const THIS_VERSION = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** The oldest version that may serve next to this one during an upgrade: the database of an earlier one is refused. */
export const OLD_COMMIT = "f02a502fefa6ae45d7b890113baf14c222a2fb04";

/** False in a shallow clone, or without Git. */
export function hasCommit(commit: string): boolean {
  return spawnSync("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: THIS_VERSION }).status === 0;
}

/**
 * Writes the source of an earlier commit to a folder, which runs as it is. Its packages use each other, and the installed
 * dependencies of this version, whichever package has them now.
 */
export function writeVersion(commit: string, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const parts = ["package.json", "tsconfig.json", "packages", "test/faults/counting-service.ts"];
  const archive = execFileSync("git", ["archive", commit, ...parts], { cwd: THIS_VERSION, maxBuffer: 2 ** 28 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  for (const name of readdirSync(join(THIS_VERSION, "packages"))) {
    const part = join("packages", name);
    linkDependencies(part, existsSync(join(folder, part)) ? part : "", folder);
  }
  linkDependencies("", "", folder);
  return folder;
}

/** Links what a part of this version has installed into a part of the other one, unless that has it. */
function linkDependencies(part: string, into: string, folder: string): void {
  const modules = join(THIS_VERSION, part, "node_modules");
  if (!existsSync(modules)) return;
  const names = readdirSync(modules)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) => (name.startsWith("@") ? readdirSync(join(modules, name)).map((of) => join(name, of)) : [name]));
  for (const name of names) {
    const link = join(folder, into, "node_modules", name);
    const inside = relative(THIS_VERSION, realpathSync(join(modules, name)));
    mkdirSync(dirname(link), { recursive: true });
    if (lstatSync(link, { throwIfNoEntry: false }) === undefined)
      symlinkSync(join(inside.startsWith("packages/") ? folder : THIS_VERSION, inside), link);
  }
}
