import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { bundle, PACKAGES, type PackageName } from "../rolldown.config.ts";
import { copyTypes } from "./types.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const folderOf = (name: PackageName): string => join(ROOT, "packages", name);
const run = (...command: string[]) => execFileSync(process.execPath, command, { cwd: ROOT, stdio: "inherit" });

// Without names: every package.
const named = process.argv.slice(2);
const unknown = named.filter((name) => !PACKAGES.some((known) => known === name));
if (unknown.length > 0)
  throw new Error(`No package is called ${unknown.join(", ")}. Packages: ${PACKAGES.join(", ")}.`);
const names = PACKAGES.filter((name) => named.length === 0 || named.includes(name));

for (const name of names) await build(bundle(name, join(folderOf(name), "dist")));
for (const name of names.filter((one) => existsSync(join(folderOf(one), "src/main.ts"))))
  copyFileSync(join(ROOT, "release/bin.cjs"), join(folderOf(name), "dist/bin.cjs"));
const typed = names.filter((name) => existsSync(join(folderOf(name), "tsconfig.json"))).map(folderOf);
if (typed.length > 0) run(join(ROOT, "node_modules/typescript/bin/tsc"), "-b", ...typed);
for (const folder of typed) copyTypes(basename(folder));
if (names.includes("control-plane"))
  run(join(ROOT, "packages/console/build.ts"), "--copy-to", join(folderOf("control-plane"), "dist/console/files"));
