import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

/** The result for a package with this source and a limit of two code lines. */
async function check(source: string) {
  const path = await mkdtemp(join(tmpdir(), "patchbay-size-"));
  try {
    execFileSync("git", ["init", "-q"], { cwd: path });
    await mkdir(join(path, "packages/a/src"), { recursive: true });
    await mkdir(join(path, "check"));
    await writeFile(join(path, "check/size.json"), '{ "codeLines": 2 }');
    await writeFile(join(path, "packages/a/src/a.ts"), source);
    await writeFile(join(path, "packages/a/rolldown.config.ts"), "f();\ng();\n");
    await mkdir(join(path, "packages/test-support/src"), { recursive: true });
    await writeFile(join(path, "packages/test-support/src/a.ts"), "f();\ng();\n");
    const { status, stdout } = spawnSync(process.execPath, [join(import.meta.dirname, "size.ts")], {
      cwd: path,
      encoding: "utf8",
    });
    return { status, stdout };
  } finally {
    await rm(path, { recursive: true });
  }
}

test("blank lines, comments and the package for tests do not count", async () => {
  expect(await check("/** One. */\nf();\n\n// two\ng();\n")).toEqual({
    status: 0,
    stdout: "2 code lines in packages/*/src without test-support, of at most 2 (check/size.json)\n",
  });
});

test("more code lines than the number in the file are refused", async () => {
  expect(await check("// one\nf();\ng();\nh();\n")).toEqual({
    status: 1,
    stdout: expect.stringMatching(/^3 code lines .*\nRemove code, or raise the number/),
  });
});

test("a comment share below 9 % is printed", async () => {
  expect(await check("f();\ng();\n")).toEqual({
    status: 0,
    stdout: expect.stringContaining("0.0 % of all lines are comments, less than 9 %\n"),
  });
});
