import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

/** Prints what the check reports about a package `a` with one source file. */
async function check(source: string) {
  await using folder = {
    path: await mkdtemp(join(tmpdir(), "patchbay-prose-")),
    [Symbol.asyncDispose]: () => rm(folder.path, { recursive: true }),
  };
  execFileSync("git", ["init", "-q"], { cwd: folder.path });
  await mkdir(join(folder.path, "packages/a/src"), { recursive: true });
  await writeFile(join(folder.path, "packages/a/src/a.ts"), source);
  const { status, stdout } = spawnSync(process.execPath, [join(import.meta.dirname, "prose.ts")], {
    cwd: folder.path,
    encoding: "utf8",
  });
  return { status, lines: stdout.split("\n").slice(0, -1) };
}

const FILLER = `/** ${"The loop retries the call after a pause. ".repeat(20)} */`;

test("a sentence with three genitives is reported with its line", async () => {
  const source = `${FILLER}\n\n// The name of the owner\n// of the agent of a run.\nexport {};`;
  expect(await check(source)).toEqual({
    status: 1,
    lines: ['packages/a/src/a.ts:3 3 times "of" in one sentence: The name of the owner of the agent of a run.'],
  });
});

test("more than 2.5 genitives per 100 words are reported", async () => {
  expect(await check("/** The name of the owner. */\nexport const of = 1;")).toEqual({
    status: 1,
    lines: [expect.stringContaining('packages/a: 20.00 "of" per 100 words of comments exceed the limit of 2.5.')],
  });
});

test("code in fences, strings and short phrases are left out", async () => {
  const code = '/**\n * ```ts\n * of of of of of\n * ```\n */\nexport const a = "// of of of of of"; // of a run';
  expect(await check(code)).toEqual({ status: 0, lines: [] });
});

test("a sentence may have two genitives", async () => {
  const source = `${FILLER}\n// The name of the owner of the agent. The state of the run of it.\nexport {};`;
  expect(await check(source)).toEqual({ status: 0, lines: [] });
});
