import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findWords } from "./words.ts";

const found = (file: string, source: string) =>
  findWords(file, source).map(({ line, column, text }) => `${line}:${column} ${text}`);

test("a listed word is reported in comments, strings, templates and JSX texts, with its place", () => {
  expect(found("a.ts", "// is told\nconst told = 1;")).toEqual(["1:7 told"]);
  expect(found("a.ts", "/**\n * Sends what whoever\n * asks.\n */\nexport {};")).toEqual(["2:15 whoever"]);
  expect(found("a.ts", 'throw new Error("Told");')).toEqual(["1:18 Told"]);
  expect(found("a.ts", "log(`for ${name} alone`, told);")).toEqual(["1:18 alone"]);
  expect(found("a.tsx", "const a = <p title='anew'>No {told} perhaps</p>;")).toEqual(["1:21 anew", "1:37 perhaps"]);
});

test("a phrase is found across the lines of a comment", () => {
  expect(found("a.ts", "/**\n * This is\n * no lease.\n */\nexport {};")).toEqual(["2:9 is\n * no"]);
  expect(found("page.md", "The replica is\nnone of them.")).toEqual(["1:13 is\nnone"]);
});

test("a page cannot install the package of npm that is called patchbay without a question", () => {
  expect(found("page.md", "Run `npx patchbay dev`, not npx -y patchbay.")).toEqual(["1:29 npx -y patchbay"]);
  const configured = (args: string) => found("page.md", `"command": "npx",\n"args": [${args}]`);
  expect(configured('"patchbay", "mcp"')).toEqual([]);
  expect(configured('"-y", "patchbay", "mcp"')).toEqual(['1:13 npx",\n"args": ["-y", "patchbay']);
  expect(configured('"-y", "@patchbay/cli", "mcp"')).toEqual([]);
  expect(found("page.md", "npx -y @patchbay/cli dev; npx -y patchbay-something")).toEqual([]);
});

test("names of programs and true uses are not reported", () => {
  expect(
    found("a.ts", "const told = nobody.alone(); // leaves it alone, is no longer here, there is no lease"),
  ).toEqual([]);
  expect(found("a.ts", 'const longer = "stand-in standalone toldness";')).toEqual([]);
});

test("pages and configuration are read whole", () => {
  expect(found("page.md", "One.\n\nThe model is told.")).toEqual(["3:14 told"]);
  expect(found("nginx.conf", "# nobody waits")).toEqual(["1:3 nobody"]);
});

test("the check fails on a planted word and passes without it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-words-"));
  const check = () =>
    spawnSync(process.execPath, [join(import.meta.dirname, "words.ts")], { cwd: folder, encoding: "utf8" });
  try {
    execFileSync("git", ["init", "-q"], { cwd: folder });
    await writeFile(join(folder, "a.ts"), "// The runtime is told.\n");
    expect(check()).toMatchObject({ status: 1, stdout: expect.stringContaining('a.ts:1:19 "told"') as string });
    await writeFile(join(folder, "a.ts"), "// The runtime receives it.\n");
    expect(check()).toMatchObject({ status: 0, stdout: "" });
  } finally {
    await rm(folder, { recursive: true });
  }
});
