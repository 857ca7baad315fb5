import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runtimeConformance } from "@patchbay/functions/conformance";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { createProject, type Project } from "./project.ts";

const registry = inject("registry");

/** As the reference names them: the versions with which functions were tested. */
const VERSIONS = ["bun@1.4.5", "deno@2.9.6"];
const COMMANDS = { Bun: ["bun"], Deno: ["deno", "run", "-A"] };
const FILES = fileURLToPath(new URL("../../packages/conformance/test/", import.meta.url));

describe.skipIf(registry === null).each(Object.entries(COMMANDS))("%s", (name, [program = "", ...args]) => {
  let project: Project;
  let file: string;
  beforeAll(async () => {
    project = await createProject({ npmrc: registry!.npmrc });
    await project.add("@patchbay/cli", "@patchbay/functions", "zod", ...VERSIONS);
    for (const source of ["service.ts", "runtime-process.ts"])
      await project.write(source, readFileSync(`${FILES}${source}`, "utf8"));
    file = `${project.folder}/node_modules/.bin/${program}`;
  });
  afterAll(() => project[Symbol.asyncDispose]());

  test("runs functions: their runtime passes the conformance kit", async () => {
    const results = await runtimeConformance({ command: [file, ...args, `${project.folder}/runtime-process.ts`] });

    expect(results.length).toBeGreaterThan(10);
    expect(results.filter(({ problem }) => problem !== undefined)).toEqual([]);
  });

  test("does not run the command, which says in one line what it needs", async () => {
    const command = `${project.folder}/node_modules/@patchbay/cli/dist/bin.cjs`;
    const { code, stdout, stderr } = await project.run(file, ...args, command, "doctor");

    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).toMatch(`error: @patchbay/cli cannot start with ${name} (`);
    expect(stderr).toContain("it needs Node.js 24.7 or newer");
  });
});
