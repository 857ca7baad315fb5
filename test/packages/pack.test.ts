import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { creationCommand } from "../../release/pack.ts";
import { createProject } from "./project.ts";

const registry = inject("registry");

test.skipIf(registry === null)(
  "the line that `npm run pack` prints creates a service without a registry of ours",
  async () => {
    await using project = await createProject({ npmrc: "" });
    const created = await project.run("sh", "-c", creationCommand(registry!.folder));
    expect(created, created.stdout + created.stderr).toMatchObject({ code: 0 });

    const service = join(project.folder, "my-service");
    const { version } = JSON.parse(
      await readFile(join(service, "node_modules/@patchbay/protocol/package.json"), "utf8"),
    ) as { version: string };
    expect(version).toMatch(/^\d/);
    const checked = await project.run("sh", "-c", "cd my-service && node_modules/.bin/patchbay access --check");
    expect(checked, checked.stdout + checked.stderr).toMatchObject({ code: 0 });
  },
);

test.skipIf(registry === null)("the code has no character that V8 would hold in two bytes with its file", async () => {
  await using project = await createProject({ npmrc: "" });
  const created = await project.run("sh", "-c", creationCommand(registry!.folder));
  expect(created, created.stdout + created.stderr).toMatchObject({ code: 0 });

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
