import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { createProject, installNode, type Project } from "./project.ts";

const registry = inject("registry");

/** Packages of the control plane on versions of Node.js that are too old for it. */
describe.skipIf(registry === null)("a Node.js that is too old", () => {
  let project: Project;
  let older: Project;
  let files: Record<string, string>;
  beforeAll(async () => {
    older = await createProject({ npmrc: "" });
    const [node12 = "", node22 = ""] = await installNode(older, "12", "22");
    files = { 12: node12, 22: node22 };
    project = await createProject({ npmrc: registry!.npmrc });
    await project.add("@patchbay/cli", "@patchbay/functions", "zod");
  });
  afterAll(async () => {
    await project[Symbol.asyncDispose]();
    await older[Symbol.asyncDispose]();
  });

  test.each(["12", "22"])("%s: the command says in one line which one it needs", async (version) => {
    const command = `${project.folder}/node_modules/@patchbay/cli/dist/bin.cjs`;
    const { code, stdout, stderr } = await older.run(files[version]!, command, "doctor");

    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).toMatch(
      /^error: @patchbay\/cli cannot start with Node.js \d+\.\d+\.\d+ \(.*\): it needs 24\.7 or newer\. Install /,
    );
  });

  test("22: functions and their tests load, and a whole query in a test says what it needs", async () => {
    await project.write("old.mjs", TESTED);
    const { code, stdout, stderr } = await older.run(files["22"]!, `${project.folder}/old.mjs`);

    expect(stderr).toBe("");
    expect({ code, ...(JSON.parse(stdout) as object) }).toEqual({
      code: 0,
      called: { ok: true, value: "Hello, Ann!" },
      cells: ["hidden", "allowed"],
      query: expect.stringMatching(
        /^A whole query in a test runs the control plane, which Node.js 22\S+ cannot load: /,
      ),
    });
  });
});

const TESTED = `
import { defineFunction, defineService } from "@patchbay/functions";
import { accessMatrix } from "@patchbay/functions/access";
import { callAs, runQuery } from "@patchbay/functions/testing";
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
const called = await callAs(service, { role: "staff", functionName: "greet", input: { name: "Ann" } });
const cells = Object.values((await accessMatrix(service)).functions[0].cells).map(({ access }) => access);
const query = await runQuery(service, { query: "Greet Ann", role: "staff" }).catch(({ message }) => message);
console.log(JSON.stringify({ called, cells, query }));
`;
