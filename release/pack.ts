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

/** Names of the packages that are published. */
function publishedNames(): string[] {
  const packages = globSync("packages/*/package.json", { cwd: ROOT }).map(
    (file) => JSON.parse(readFileSync(join(ROOT, file), "utf8")) as { name: string; private?: boolean },
  );
  return packages.filter((one) => one.private !== true).map(({ name }) => name);
}
