import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { createProject, type Project } from "./project.ts";

const registry = inject("registry");

const MODULES = {
  nodenext: ["--module", "nodenext"],
  bundler: ["--module", "preserve", "--moduleResolution", "bundler"],
};
const TSC = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
const STRICT = ["--noEmit", "--strict", "--target", "es2022", "--types", "node"];

const FUNCTIONS = [
  "@patchbay/functions",
  "@patchbay/functions/access",
  "@patchbay/functions/sources",
  "@patchbay/functions/testing",
];
const OTHERS = [
  "@patchbay/client",
  "@patchbay/control-plane",
  "@patchbay/control-plane/admin",
  "@patchbay/create",
  "@patchbay/mcp",
  "@patchbay/protocol",
  "@patchbay/protocol/arguments-hash",
  "@patchbay/protocol/console",
  "@patchbay/protocol/providers",
];

/** Owners may compile without `skipLibCheck`: every published declaration must compile, with only what its package installs. */
describe.skipIf(registry === null)("declarations", () => {
  let project: Project;
  beforeAll(async () => {
    // pnpm: a package can import only what it declares.
    project = await createProject({ npmrc: registry!.npmrc, manager: "pnpm" });
    await project.add("@patchbay/functions", "zod", "@types/node@22");
  });
  afterAll(() => project[Symbol.asyncDispose]());

  async function compile(packages: string[], ...options: string[]): Promise<string> {
    const lines = packages.map((name, index) => `export * as a${index} from "${name}";`);
    await project.write("all.ts", lines.join("\n"));
    const { stdout, stderr } = await project.run(process.execPath, TSC, ...STRICT, ...options, "all.ts");
    return stdout + stderr;
  }

  test.each(Object.entries(MODULES))("of functions compile without the control plane: %s", async (_name, options) => {
    expect(await compile(FUNCTIONS, ...options)).toBe("");
  });

  describe("with the other packages", () => {
    beforeAll(() =>
      project.add(
        "@patchbay/client",
        "@patchbay/control-plane",
        "@patchbay/create",
        "@patchbay/mcp",
        "@patchbay/protocol",
      ),
    );

    test.each(Object.entries(MODULES))("compile: %s", async (_name, options) => {
      expect(await compile([...FUNCTIONS, ...OTHERS], ...options)).toBe("");
    });
  });

  test("are shipped only if an entry reaches them", async () => {
    const listing = [...STRICT, ...MODULES.nodenext, "--listFilesOnly", "all.ts"];
    const { stdout } = await project.run(process.execPath, TSC, ...listing);
    // pnpm keeps a copy of a package for each set of its peers.
    const inPackage = (files: string[]) =>
      new Set(files.flatMap((file) => /@patchbay\/[\w-]+\/dist\/.*$/.exec(file) ?? []));
    const shipped = inPackage(
      globSync("node_modules/.pnpm/@patchbay+*/node_modules/@patchbay/*/dist/**/*.d.ts", { cwd: project.folder }),
    );

    expect(shipped.size).toBeGreaterThan(50);
    expect(shipped).toEqual(inPackage(stdout.split("\n")));
  });
});
