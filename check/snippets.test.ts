import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const run = promisify(execFile);

/** Pages whose snippets are complete modules. Snippets of other pages show parts, or are compared with files that run. */
const PAGES = [
  "docs/index.md",
  ...["functions", "context", "access-in-ci", "streaming"].map((name) => `docs/guides/${name}.md`),
  ...globSync("docs/reference/define-*.md", { cwd: root }),
];

const snippets = PAGES.flatMap((page) =>
  [...readFileSync(join(root, page), "utf8").matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = ""], index) => ({
    file: `${page.replaceAll(/[/.]/g, "-")}-${index + 1}.ts`,
    code,
  })),
);

/** Inside the repository, so that the snippets find the packages. */
const folder = join(root, `test/output/snippets-${process.pid}`);
const EXTENDED = { extends: "../../../tsconfig.json", compilerOptions: { noUnusedLocals: false }, include: ["*.ts"] };

beforeAll(async () => {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(EXTENDED));
  for (const { file, code } of snippets) await writeFile(join(folder, file), code);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What the compiler reports of the folder; empty if it accepts every file. */
async function faults(): Promise<string> {
  const compiler = join(root, "node_modules/.bin/tsc");
  const failed = await run(compiler, ["-p", folder]).then(
    () => "",
    (error: { stdout: string }) => error.stdout,
  );
  return failed;
}

test("the snippets of the pages pass the type check", async () => {
  expect(snippets.length).toBeGreaterThanOrEqual(PAGES.length);
  expect(await faults()).toBe("");
});

test("a snippet with a wrong type is found", async () => {
  const wrong = join(folder, "wrong.ts");
  await writeFile(
    wrong,
    'import { defineService } from "@patchbay/functions";\ndefineService({ name: 1, functions: [] });\n',
  );
  try {
    expect(await faults()).toContain("wrong.ts(2,");
  } finally {
    await rm(wrong);
  }
});
