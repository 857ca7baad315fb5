import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** Where each package's tsconfig.json puts the declarations of all its modules. */
const COMPILED = "node_modules/.types";

/** Types of an optional peer that a package publishes as its own: they are needed also where the peer is not installed. */
const EMBEDDED: Record<string, Record<string, string>> = {
  "@patchbay/functions": {
    "@patchbay/control-plane": "../control-plane/node_modules/.types/ports/model-provider.d.ts",
  },
};

interface PackageJson {
  name: string;
  publishConfig: { exports: Record<string, { types: string }> };
}

/** Copies the declarations that the package's entries reach into `dist`. The other modules' would only be read by mistake. */
export function copyTypes(folder: string): void {
  const { name, publishConfig } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as PackageJson;
  const embedded = EMBEDDED[name] ?? {};
  const copied = new Set<string>();
  const copy = (from: string, to: string): void => {
    if (copied.has(to)) return;
    copied.add(to);
    const text = readFileSync(from, "utf8").replaceAll(IMPORTED, (whole, before: string, id: string) => {
      const peer = embedded[id];
      if (peer === undefined && !id.startsWith(".")) return whole;
      if (peer === undefined) {
        copy(join(dirname(from), declaration(id)), join(dirname(to), declaration(id)));
        return whole;
      }
      const target = join(folder, "dist", peer.split("/").at(-1)!);
      copy(join(folder, peer), target);
      const path = relative(dirname(to), target).replace(/\.d\.ts$/, ".js");
      return `${before}"${path.startsWith(".") ? path : `./${path}`}"`;
    });
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, text);
  };
  for (const { types } of Object.values(publishConfig.exports)) {
    const file = types.replace("./dist/", "");
    copy(join(folder, COMPILED, file), join(folder, "dist", file));
  }
}

/** The module of an import, an export or an `import()` type. */
const IMPORTED = /((?:\bfrom|\bimport) ?\(?)"([^"]+)"/g;

const declaration = (id: string): string => id.replace(/\.[jt]s$/, ".d.ts");
