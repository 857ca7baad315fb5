import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { type Host, thisProcess } from "./config.ts";
import { CreateFailure } from "./failure.ts";
import type { CreateOptions } from "./options.ts";
import { findPackedPackages, packageFiles, type PackedPackages } from "./package-json.ts";
import { commandsFor, installArguments, type PackageManager } from "./package-manager.ts";
import { decide } from "./questions.ts";

export interface CreatedService {
  /** Absolute. */
  folder: string;
  name: string;
  files: string[];
  installed: boolean;
  /** The commands to type next, in this order. */
  next: string[];
}

/**
 * Service file names, each with its name in folder `template`: npm does not publish a `.gitignore`, and would apply its
 * lines to this package.
 */
const TEMPLATE: Readonly<Record<string, string>> = {
  "service.ts": "service.ts",
  "library.ts": "library.ts",
  "service.test.ts": "service.test.ts",
  "access.lock.json": "access.lock.json",
  "access.never.json": "access.never.json",
  "AGENTS.md": "AGENTS.md",
  "README.md": "README.md",
  "tsconfig.json": "tsconfig.json",
  ".env.example": "env.example",
  ".vscode/launch.json": "launch.json",
  ".gitignore": "gitignore",
};

/** Writes a new service into a folder and installs its packages. Throws a CreateFailure with the reason if it cannot. */
export async function createService(options: CreateOptions, host: Host = thisProcess()): Promise<CreatedService> {
  const { packageManager, workingFolder } = host;
  const packed =
    options.packages === undefined ? undefined : findPackedPackages(resolve(workingFolder, options.packages));
  const { folder, name, install, replaced } = await decide(options, host, (name) => [
    ...serviceFiles(name, packageManager, packed).keys(),
  ]);
  const files = serviceFiles(name, packageManager, packed);
  await write(folder, files, replaced);
  if (install) await installPackages(folder, host);
  return {
    folder,
    name,
    files: [...files.keys()],
    installed: install,
    next: nextCommands(relative(workingFolder, folder), install, packageManager),
  };
}

/** Service file texts by file name. */
function serviceFiles(name: string, manager: PackageManager, packed?: PackedPackages): Map<string, string> {
  const files = packageFiles(name, manager, packed);
  for (const [file, source] of Object.entries(TEMPLATE)) {
    const text = readFileSync(new URL(`../template/${source}`, import.meta.url), "utf8");
    files.set(file, commandsFor(manager, text.replaceAll("service-name", name)));
  }
  return files;
}

async function write(folder: string, files: ReadonlyMap<string, string>, replaced: readonly string[]): Promise<void> {
  try {
    for (const [file, text] of files) {
      const path = join(folder, file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text, { flag: replaced.includes(file) ? "w" : "wx" });
    }
  } catch (error) {
    throw new CreateFailure(`The service cannot be written to ${folder}: ${(error as Error).message}.`);
  }
}

async function installPackages(folder: string, { packageManager, run }: Host): Promise<void> {
  const failed = (reason: string) =>
    new CreateFailure(
      `The files are in ${folder}, but their packages are not installed: ${reason}. Run \`${packageManager} install\` there.`,
    );
  const code = await run(packageManager, installArguments(packageManager), folder).catch((error: Error) => {
    throw failed(error.message);
  });
  if (code !== 0) throw failed(`${packageManager} ended with ${code === null ? "a signal" : `exit code ${code}`}`);
}

function nextCommands(folder: string, installed: boolean, manager: PackageManager): string[] {
  const shown = /^[\w./-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", String.raw`'\''`)}'`;
  const commands = [
    ...(folder === "" ? [] : [`cd ${shown}`]),
    ...(installed ? [] : ["npm install"]),
    "npm run dev",
    "npm test",
    "npm run roles",
  ];
  return commands.slice(0, 3).map((command) => commandsFor(manager, command));
}

/** Describes the created service and the next commands for people. */
export function describeCreated({ name, folder, next }: CreatedService): string {
  return [`Created ${name} in ${folder}.`, "", "Next:", ...next.map((command) => `  ${command}`)].join("\n");
}
