import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { creationCommand } from "../../release/pack.ts";
import { createProject, type Finished, type Project } from "./project.ts";

const registry = inject("registry");

describe.skipIf(registry === null)("a service created by the line that `npm run pack` prints", () => {
  let project: Project;
  let created: Finished;
  beforeAll(async () => {
    project = await createProject({ npmrc: "" });
    created = await project.run("sh", "-c", creationCommand(registry!.folder));
  });
  afterAll(() => project[Symbol.asyncDispose]());

  test("is created without a registry of ours", async () => {
    expect(created, created.stdout + created.stderr).toMatchObject({ code: 0 });
    const { version } = JSON.parse(
      await readFile(join(project.folder, "my-service/node_modules/@patchbay/protocol/package.json"), "utf8"),
    ) as { version: string };
    expect(version).toMatch(/^\d/);
    const checked = await project.run("sh", "-c", "cd my-service && node_modules/.bin/patchbay access --check");
    expect(checked, checked.stdout + checked.stderr).toMatchObject({ code: 0 });
  });

  test("has code without characters that V8 would hold in two bytes with their file", async () => {
    const wide: string[] = [];
    let files = 0;
    const code = join(project.folder, "my-service/node_modules/@patchbay/*/dist/*.js");
    for await (const file of glob(code)) {
      files++;
      if (/[^\0-\x7f]/.test(await readFile(file, "utf8"))) wide.push(file);
    }
    expect(files).toBeGreaterThan(10);
    expect(wide).toEqual([]);
  });
});

test("a folder whose name has spaces and quotes is one word of the line", async () => {
  await using project = await createProject({ npmrc: "" });
  await project.write("it's here/patchbay-create-0.1.0.tgz", "");
  const line = creationCommand(join(project.folder, "it's here"));
  const { stdout } = await project.run("sh", "-c", line.replace("npx --yes --package", "printf '%s\\n'"));
  const folder = join(project.folder, "it's here");
  expect(stdout.split("\n")).toEqual([
    join(folder, "patchbay-create-0.1.0.tgz"),
    "create-patchbay",
    "my-service",
    "--packages",
    folder,
    "",
  ]);
});
