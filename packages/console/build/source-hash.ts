import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Everything that the built files depend on. Types of other packages are not among it: they leave no trace in the bundle. */
const SOURCES = [
  "src",
  "public",
  "build",
  "build.ts",
  "index.html",
  "package.json",
  "vite.config.ts",
  "../../pnpm-lock.yaml",
];

/** Changes when a source file does, is added, renamed or removed. */
export function hashSources(root: string): string {
  const hash = createHash("sha256");
  for (const source of SOURCES)
    for (const file of filesUnder(join(root, source)))
      hash
        .update(`${file.slice(root.length)}\0`)
        .update(readFileSync(file))
        .update("\0");
  return hash.digest("hex");
}

function filesUnder(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
