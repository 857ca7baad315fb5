import { execFile } from "node:child_process";
import { globSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PNPM = ["--yes", "pnpm@12.21.0"];

const run = promisify(execFile);

/** Builds the packages, and packs those that are published into `folder`, which is emptied before. Returns the tarballs. */
export async function packAll(folder: string): Promise<string[]> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await run("npx", [...PNPM, "run", "build"], { cwd: ROOT });
  const filters = publishedNames().flatMap((name) => ["--filter", name]);
  // Everything is built: the packages' own prepack would build each of them again.
  const pack = ["-r", ...filters, "--config.ignore-scripts=true", "pack", "--pack-destination", folder];
  await run("npx", [...PNPM, ...pack], { cwd: ROOT, maxBuffer: Infinity });
  return globSync("*.tgz", { cwd: folder })
    .toSorted()
    .map((file) => join(folder, file));
}

/** The command that creates a service from the packed packages in `folder`, in whatever folder it is run. */
export function creationCommand(folder: string): string {
  const [create] = globSync("patchbay-create-*.tgz", { cwd: folder });
  if (create === undefined) throw new Error(`${folder} has no packed @patchbay/create.`);
  return `npx --yes --package ${quoted(join(folder, create))} create-patchbay my-service --packages ${quoted(folder)}`;
}

/** What the command prints after it has packed `count` packages into `folder`. */
export const describePacked = (count: number, folder: string): string =>
  `Packed ${count} packages into ${folder}. In any other folder, create a service from them:

  ${creationCommand(folder)}

`;

/** A path as one word of a shell. */
const quoted = (path: string): string => (/^[\w./@-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);

/** Names of the packages that are published. */
function publishedNames(): string[] {
  const packages = globSync("packages/*/package.json", { cwd: ROOT }).map(
    (file) => JSON.parse(readFileSync(join(ROOT, file), "utf8")) as { name: string; private?: boolean },
  );
  return packages.filter((one) => one.private !== true).map(({ name }) => name);
}

if (import.meta.main) {
  const folder = join(ROOT, "dist/packages");
  const packed = await packAll(folder);
  process.stdout.write(describePacked(packed.length, folder));
}
