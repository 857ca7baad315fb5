import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { createProject, type Project } from "./project.ts";

const registry = inject("registry");

const MODULES = {
  nodenext: ["--module", "nodenext", "all.ts"],
  bundler: ["--module", "preserve", "--moduleResolution", "bundler", "all.ts"],
  // Before `nodenext` allowed it, CommonJS could import only what has declarations for CommonJS.
  "node16, CommonJS": ["--module", "node16", "all.cts"],
};
const TSC = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
const STRICT = ["--noEmit", "--strict", "--target", "es2022", "--types", "node"];

const FUNCTIONS = [
  "@patchbay/functions",
  "@patchbay/functions/access",
  "@patchbay/functions/conformance",
  "@patchbay/functions/sources",
  "@patchbay/functions/testing",
];
const OTHERS = [
  "@patchbay/client",
  "@patchbay/control-plane",
  "@patchbay/control-plane/admin",
  "@patchbay/create",
  "@patchbay/mcp",
  "@patchbay/openapi",
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
    for (const file of ["all.ts", "all.cts"]) await project.write(file, lines.join("\n"));
    const { stdout, stderr } = await project.run(process.execPath, TSC, ...STRICT, ...options);
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
        "@patchbay/openapi",
        "@patchbay/protocol",
      ),
    );

    test.each(Object.entries(MODULES))("compile: %s", async (_name, options) => {
      expect(await compile([...FUNCTIONS, ...OTHERS], ...options)).toBe("");
    });
  });

  test("a service in CommonJS compiles and runs", async () => {
    await project.write("service.cts", SERVICE);
    const options = ["--strict", "--target", "es2022", "--types", "node", "--module", "node16", "--outDir", "built"];
    const { stdout } = await project.run(process.execPath, TSC, ...options, "service.cts");
    expect(stdout).toBe("");

    const { stdout: printed, stderr } = await project.run(process.execPath, "built/service.cjs");
    expect(printed, stderr).toBe('{"ok":true,"value":"Hello, Ann!"}\n');
  });

  test("are shipped only if an entry reaches them", async () => {
    const listing = [...STRICT, ...MODULES.nodenext, "--listFilesOnly"];
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

const SERVICE = `
import { defineFunction, defineService } from "@patchbay/functions";
import { callAs } from "@patchbay/functions/testing";
import { z } from "zod";
const greet = defineFunction({
  name: "greet",
  description: "Greets a person by name.",
  input: z.object({ name: z.string() }),
  roles: ["staff"],
  effect: "read",
  handler: ({ name }) => "Hello, " + name + "!",
});
const service = defineService({ name: "desk", functions: [greet] });
const call = { role: "staff", functionName: "greet", input: { name: "Ann" } };
void callAs(service, call).then((outcome) => console.log(JSON.stringify(outcome)));
`;
