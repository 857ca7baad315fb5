import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const packages = fileURLToPath(new URL("../../packages/", import.meta.url));

/** Paths of the packages' own source files in which code, not a comment, matches. What only tests use is not among them. */
export function sourcesWith(pattern: RegExp): string[] {
  return globSync("*/src/**/*.ts", { cwd: packages, exclude: ["test-support/**"] })
    .filter((file) => pattern.test(withoutComments(readFileSync(join(packages, file), "utf8"))))
    .map((file) => relative(".", file).replaceAll("\\", "/"))
    .toSorted();
}

function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/(^|\s)\/\/.*$/gm, "");
}
