import { execFile } from "node:child_process";
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { startEnvironment } from "@patchbay/loading/config";
import { CommandFailure, reasonOf } from "@patchbay/loading/failure";

const run = promisify(execFile);

/** Another revision's files in a temporary folder, which is removed when this is disposed. */
export interface Revision extends AsyncDisposable {
  /** The service file in that revision. */
  file: string;
  commit: string;
}

/** Writes a revision of the repository of `file` to a temporary folder. Packages are the installed ones. */
export async function openRevision(ref: string, file: string): Promise<Revision> {
  const path = realpathSync(file);
  const git = (args: string[], env: Record<string, string> = {}) => runGit(dirname(path), args, env);
  const root = realpathSync(await git(["rev-parse", "--show-toplevel"]));
  const commit = await git(["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`]).catch(() => {
    throw new CommandFailure(`--against ${ref}: git does not know this revision. Fetch it, or name another one.`);
  });
  const inside = relative(root, path);
  const files = (await git(["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit])).split("\0").filter(Boolean);
  if (!files.includes(inside.split(sep).join("/")))
    throw new CommandFailure(`--against ${ref}: ${inside} does not exist in this revision.`);
  const folder = realpathSync(await mkdtemp(join(tmpdir(), "patchbay-revision-")));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    // A separate index, so that neither the repository's index nor its files change.
    const env = { GIT_INDEX_FILE: join(folder, ".index") };
    await runGit(root, ["read-tree", commit], env);
    await runGit(root, ["checkout-index", "--all", `--prefix=${folder}${sep}`], env);
    const manifests = files.filter((file) => file.endsWith("package.json"));
    const folders = new Set(["", ...manifests.map((file) => dirname(file))]);
    for (const from of folders) await linkPackages(join(root, from), join(folder, from), { root, folder });
    return { file: join(folder, inside), commit, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function runGit(cwd: string, args: string[], env: Record<string, string>): Promise<string> {
  try {
    // A git hook names another repository or index in them.
    const { GIT_DIR: _, GIT_WORK_TREE: __, ...inherited } = startEnvironment;
    const { stdout } = await run("git", ["-C", cwd, ...args], {
      env: { ...inherited, ...env },
      maxBuffer: 1 << 28,
    });
    return stdout.trim();
  } catch (error) {
    throw new CommandFailure(`--against needs a git repository: ${reasonOf(error)}`);
  }
}

/** Links a folder's installed packages. A package in the same repository is the revision's own. */
async function linkPackages(
  from: string,
  to: string,
  { root, folder }: { root: string; folder: string },
): Promise<void> {
  const [installed, made] = [join(from, "node_modules"), join(to, "node_modules")];
  if (!existsSync(installed) || existsSync(made)) return;
  await mkdir(made, { recursive: true });
  for (const name of readdirSync(installed)) {
    const names = name.startsWith("@") ? readdirSync(join(installed, name)).map((entry) => join(name, entry)) : [name];
    for (const link of names) {
      await mkdir(dirname(join(made, link)), { recursive: true });
      await symlink(targetOf(join(installed, link), link, { root, folder }), join(made, link));
    }
  }
}

function targetOf(path: string, name: string, { root, folder }: { root: string; folder: string }): string {
  if (!existsSync(path)) return path;
  const real = realpathSync(path);
  const inside = relative(root, real);
  const isWorkspace = !inside.startsWith("..") && !inside.split(sep).includes("node_modules");
  const there = join(folder, inside);
  return isWorkspace && !name.startsWith("@patchbay") && existsSync(there) ? there : real;
}
