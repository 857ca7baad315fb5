import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const run = promisify(execFile);

const PAGES = globSync(["README.md", "docs/**/*.md", "packages/*/README.md"], {
  cwd: root,
  exclude: ["docs/reference/generated/**", "**/node_modules/**"],
});

/** What snippets of a page use and do not show. Appended, so that the compiler's lines are those of the snippet. */
const EMBEDDED = 'declare const apiKey: string; declare const service: import("@patchbay/functions").Service;';
const ASSUMED: Record<string, string> = {
  "README.md": `${EMBEDDED} declare const payments: { refund(id: string, more: object): Promise<{ id: string }> };`,
  "docs/guides/approval.md": EMBEDDED,
  "docs/guides/chat.md":
    "declare function sessionOf(request: Request): Promise<{ role: string; customerId: string } | undefined>;",
  "docs/guides/deploying.md": EMBEDDED,
  "docs/guides/hooks.md": `declare const getOrder: import("@patchbay/functions").FunctionDefinition;
    declare const moderation: { flags(text: string, options: { signal: AbortSignal }): Promise<boolean> };`,
  "docs/guides/testing.md": `${EMBEDDED} declare const { runQuery, scriptedModel }: typeof import("@patchbay/functions/testing");
    declare const query: string, role: string, provider: import("@patchbay/functions/testing").ScriptedModel;`,
};

/** How snippets begin that are not modules: members of an object, and a file that another test compares with the one that runs. */
const PARTS = ["authorize: (", "output: z.object(", "import { mkdtempDisposableSync }"];

const all = PAGES.flatMap((page) =>
  [...readFileSync(join(root, page), "utf8").matchAll(/^ *```ts\n(.*?)^ *```/gms)].map(([, code = ""], index) => ({
    file: `${page.replaceAll(/[/.]/g, "-")}-${index + 1}.ts`,
    code: `${code}${ASSUMED[page] ?? ""}\nexport {};\n`,
  })),
);
const partOf = (code: string) => PARTS.find((start) => code.startsWith(start));
const snippets = all.filter(({ code }) => partOf(code) === undefined);

/** Inside the repository, so that the snippets find the packages. */
const folder = join(root, `test/output/snippets-${process.pid}`);
const EXTENDED = {
  extends: "../../../tsconfig.json",
  compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
  include: ["*.ts"],
};

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
  expect(snippets.length).toBeGreaterThan(10);
  expect(all.flatMap(({ code }) => partOf(code) ?? []).toSorted()).toEqual(PARTS.toSorted());
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
