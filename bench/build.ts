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

/** The packages as they are after an installation from a registry: the built files, and package.json as it is published. */
export interface Installation {
  /** The `patchbay` command. */
  command: string;
  /** Builds a module that names parts of the control plane that its index does not export. */
  addParts(source: string): Promise<string>;
  /** Copies a module of the owner's to where it can import `@patchbay/functions` and zod. */
  addService(source: string): string;
}

/** Builds the packages into `folder`, beside links to what they depend on. */
export async function install(folder: string): Promise<Installation> {
  for (const name of PACKAGES) await installPackage(folder, name);
  return {
    command: join(folder, "cli/dist/main.js"),
    async addParts(source) {
      const to = join(folder, "control-plane/parts");
      await build(bundle("control-plane", to, { parts: source }));
      return join(to, "parts.js");
    },
    addService(source) {
      const target = join(folder, "service");
      mkdirSync(target, { recursive: true });
      link(join(folder, "functions"), join(target, "node_modules/@patchbay/functions"));
      link(join(ROOT, "node_modules/zod"), join(target, "node_modules/zod"));
      writeFileSync(join(target, "package.json"), '{ "type": "module" }');
      const file = join(target, "service.js");
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
    else if (dependency in (declared.dependencies ?? {})) linkTo(dependency, join(from, "node_modules", dependency));
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

/** How many packages come with one when it is installed without development dependencies, itself not counted. */
export function countInstalled(name: string): number {
  const seen = new Set<string>();
  const waiting = [join(ROOT, "packages", name)];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const { dependencies = {}, optionalDependencies = {} } = readPackage(folder);
    for (const dependency of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const place = locate(folder, dependency);
      // What is optional is not there on every machine.
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

/** The folder that Node would find a dependency in, looking upwards. */
function locate(folder: string, dependency: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const candidate = join(at, "node_modules", dependency);
    if (existsSync(candidate)) return candidate;
    if (at === dirname(at)) return undefined;
  }
}

/** Installs the rival's packages where they are not there yet. They are no part of the workspace. */
export function installRival(folder: string): void {
  const wanted = Object.keys(readPackage(folder).dependencies ?? {});
  if (wanted.every((name) => existsSync(join(folder, "node_modules", name, "package.json")))) return;
  const npm = ["ci", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", npm, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  if (readdirSync(join(folder, "node_modules")).length === 0) throw new Error(`npm ci installed nothing in ${folder}`);
}
