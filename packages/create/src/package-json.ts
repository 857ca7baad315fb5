import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CreateFailure } from "./failure.ts";
import type { PackageManager } from "./package-manager.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};
const PATCHBAY = `^${version}`;

const DEPENDENCIES = { "@patchbay/cli": PATCHBAY, "@patchbay/functions": PATCHBAY, zod: "^4.6.7" };
const DEV_DEPENDENCIES = {
  // Whole queries in tests run through it.
  "@patchbay/control-plane": PATCHBAY,
  "@types/node": "^26.6.6",
  typescript: "^7.0.2",
  vitest: "^5.1.1",
};

const LIMIT = 100;

/** Why a name is invalid for a service and its package. Undefined for a valid name. */
export function nameFault(name = ""): string | undefined {
  if (name in DEPENDENCIES || name in DEV_DEPENDENCIES || name === "node_modules")
    return `A service cannot be named ${name}, because a package that it installs has this name.`;
  if (name.length <= LIMIT && /^[a-z0-9][a-z0-9._-]*$/.test(name)) return undefined;
  return `A service cannot be named ${JSON.stringify(name)}. Use 1 to ${LIMIT} of the characters a-z 0-9 . _ - with a letter or a digit first.`;
}

/** `file:` specifiers for packed packages, by package name. */
export type PackedPackages = ReadonlyMap<string, string>;

/**
 * Finds packed packages (`patchbay-cli-0.1.0.tgz`) in a folder, given as an absolute path. Throws a CreateFailure if a
 * package that a service needs is missing.
 */
export function findPackedPackages(folder: string): PackedPackages {
  let files: string[];
  try {
    files = readdirSync(folder);
  } catch (error) {
    throw new CreateFailure(`The folder ${folder} of the packed packages cannot be read (${codeOf(error)}).`);
  }
  const packed = new Map<string, string>(
    files.flatMap((file) => {
      const [, name] = /^patchbay-(.+)-\d+\.\d+\.\d+(?:-[\w.]+)?\.tgz$/.exec(file) ?? [];
      return name === undefined ? [] : [[`@patchbay/${name}`, `file:${join(folder, file)}`] as const];
    }),
  );
  const wanted = Object.keys({ ...DEPENDENCIES, ...DEV_DEPENDENCIES }).filter((name) => name.startsWith("@patchbay/"));
  const missing = wanted.filter((name) => !packed.has(name));
  if (missing.length > 0)
    throw new CreateFailure(
      `The folder ${folder} has no packed ${missing.join(", ")}. Pack all packages into one folder, and name that folder.`,
    );
  return packed;
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? String(error);

/**
 * The files that determine the installed packages. Packed packages replace registry packages, also as each other's
 * dependencies.
 */
export function packageFiles(
  name: string,
  manager: PackageManager,
  packed: PackedPackages = new Map(),
): Map<string, string> {
  const locally = (wanted: Record<string, string>) =>
    Object.fromEntries(Object.entries(wanted).map(([name, range]) => [name, packed.get(name) ?? range]));
  const replacements = Object.fromEntries(packed);
  const replaced = packed.size > 0;
  const content = {
    name,
    version: "0.0.0",
    private: true,
    type: "module",
    scripts: {
      dev: "patchbay dev",
      query: "patchbay query",
      test: "vitest run",
      // `yarn check` and `yarn access` are commands of yarn 1.
      types: "tsc",
      roles: "patchbay access",
      connect: "patchbay connect service.ts",
    },
    dependencies: locally(DEPENDENCIES),
    devDependencies: locally(DEV_DEPENDENCIES),
    ...(replaced && (manager === "npm" || manager === "bun") && { overrides: replacements }),
    ...(replaced && manager === "yarn" && { resolutions: replacements }),
    engines: { node: ">=24.7" },
  };
  const files = new Map([["package.json", `${JSON.stringify(content, undefined, 2)}\n`]]);
  if (replaced && manager === "pnpm") files.set("pnpm-workspace.yaml", `${yamlMap("overrides", replacements)}\n`);
  return files;
}

/** Formats a text map as YAML, which accepts every JSON text. */
const yamlMap = (key: string, map: Record<string, string>) =>
  [`${key}:`, ...Object.entries(map).map((entry) => `  ${entry.map((text) => JSON.stringify(text)).join(": ")}`)].join(
    "\n",
  );
