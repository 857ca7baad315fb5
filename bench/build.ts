import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { bundle, PACKAGES, type PackageName } from "../rolldown.config.ts";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));

interface PackageJson {
  name: string;
  publishConfig?: object;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

export type Installation = Awaited<ReturnType<typeof install>>;

/**
 * Builds the packages into `folder` as a registry would install them: the built files, the published package.json, and links to
 * their dependencies.
 */
export async function install(folder: string) {
  for (const name of PACKAGES) await installPackage(folder, name);
  return {
    /** The `patchbay` command. */
    command: join(folder, "cli/dist/main.js"),
    /** Builds a module that imports parts of the control plane that its index does not export. */
    async addParts(source: string): Promise<string> {
      const to = join(folder, "control-plane/parts");
      await build(bundle("control-plane", to, { parts: source }));
      return join(to, "parts.js");
    },
    /** Copies a service module to a folder from which it can import `@patchbay/functions` and zod. */
    addService(source: string, name = "service.js"): string {
      const target = join(folder, "service");
      mkdirSync(target, { recursive: true });
      link(join(folder, "functions"), join(target, "node_modules/@patchbay/functions"));
      link(join(ROOT, "node_modules/zod"), join(target, "node_modules/zod"));
      writeFileSync(join(target, "package.json"), '{ "type": "module" }');
      const file = join(target, name);
      cpSync(source, file);
      return file;
    },
  };
}

async function installPackage(folder: string, name: PackageName): Promise<void> {
  const from = join(ROOT, "packages", name);
  const to = join(folder, name);
  const { publishConfig, ...declared } = readPackage(from);
  mkdirSync(to, { recursive: true });
  await build(bundle(name, join(to, "dist")));
  if (name === "control-plane") addConsole(join(to, "dist/console/files"));
  writeFileSync(join(to, "package.json"), JSON.stringify({ ...declared, ...publishConfig }));
  const linkTo = (dependency: string, place: string) => link(place, join(to, "node_modules", dependency));
  for (const dependency of Object.keys({ ...declared.dependencies, ...declared.peerDependencies })) {
    const own = /^@patchbay\/(.+)$/.exec(dependency)?.[1];
    if (own !== undefined) linkTo(dependency, join(folder, own));
    else linkTo(dependency, join(from, "node_modules", dependency));
  }
}

function addConsole(files: string): void {
  execFileSync(process.execPath, [join(ROOT, "packages/console/build.ts"), "--copy-to", files], { stdio: "inherit" });
}

function link(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  if (!existsSync(to)) symlinkSync(from, to);
}

const readPackage = (folder: string): PackageJson =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as PackageJson;

/** Number of packages that an installation without development dependencies adds to the package itself. */
export function countInstalled(name: string): number {
  const seen = new Set<string>();
  const waiting = [join(ROOT, "packages", name)];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const { dependencies = {}, optionalDependencies = {} } = readPackage(folder);
    for (const dependency of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const place = locate(folder, dependency);
      // Optional dependencies are not installed on every machine.
      if (place === undefined && dependency in optionalDependencies) continue;
      if (place === undefined)
        throw new Error(`${dependency}, a dependency of ${folder}, is not installed. Run pnpm install.`);
      const found = realpathSync(place);
      if (seen.has(found)) continue;
      seen.add(found);
      waiting.push(found);
    }
  }
  return seen.size;
}

/** The folder in which Node finds a dependency, searching upwards. */
function locate(folder: string, dependency: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const candidate = join(at, "node_modules", dependency);
    if (existsSync(candidate)) return candidate;
    if (at === dirname(at)) return undefined;
  }
}

/** Installs the packages of the compared system if they are missing. They do not belong to the workspace. */
export function installCompared(folder: string): void {
  const wanted = Object.keys(readPackage(folder).dependencies ?? {});
  if (wanted.every((name) => existsSync(join(folder, "node_modules", name, "package.json")))) return;
  const npm = ["ci", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", npm, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  if (readdirSync(join(folder, "node_modules")).length === 0) throw new Error(`npm ci installed nothing in ${folder}`);
}
