import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT } from "./build.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** Lays the floor out as JavaScript, since stripping types at its start would cost it time and memory that Patchbay's build has not. */
export function stripFloor(folder: string): (script: string) => string {
  const target = join(folder, "floor");
  mkdirSync(join(target, "floor"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(target, "node_modules"));
  writeFileSync(join(target, "package.json"), '{ "type": "module" }');
  const sources = readdirSync(join(HERE, "floor")).map((name) => join("floor", name));
  for (const name of ["models.ts", ...sources]) {
    const code = stripTypeScriptTypes(readFileSync(join(HERE, name), "utf8"));
    writeFileSync(join(target, asJs(name)), code.replaceAll(/(from "\.[^"]*)\.ts"/g, '$1.js"'));
  }
  return (script) => join(target, "floor", script);
}

const asJs = (name: string): string => name.replace(/\.ts$/, ".js");
