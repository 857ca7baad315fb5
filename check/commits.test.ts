import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { subjectFaults } from "./commits.ts";

const SCRIPT = join(import.meta.dirname, "commits.ts");

test.each([
  "Use the shared wait timeout in tests",
  "Add a list of verbs to the commit check",
  "Fix the lease renewal after a clock change",
  "Speed up the search in run lists that have 100,000 rows",
])("the subject is accepted: %s", (subject) => {
  expect(subjectFaults(subject)).toEqual([]);
});

test.each([
  ["Keep attempts from their time limit", 'starts with "Keep"'],
  ["add a test", 'starts with "add"'],
  ["run: add a test", 'starts with "run:"'],
  ["Test the end of the lease of a run", '"of" more than once'],
  ["Read tags of runs that match", "clause after a genitive"],
  [`Add ${"a".repeat(62)}`, "has 66 characters"],
  ["Add a test.", "full stop"],
])("the subject is refused: %s", (subject, fault) => {
  expect(subjectFaults(subject)).toEqual([expect.stringContaining(fault)]);
});

/** A repository with one accepted commit. */
async function repository() {
  const path = await mkdtemp(join(tmpdir(), "patchbay-commits-"));
  const git = (...args: string[]) => execFileSync("git", args, { cwd: path, encoding: "utf8" }).trim();
  const commit = (subject: string) =>
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", subject);
  git("init", "-q");
  commit("Whatever");
  await mkdir(join(path, "check"));
  await writeFile(join(path, "check/commits-since.txt"), `${git("rev-parse", "HEAD")}\n`);
  const check = (...args: string[]) => {
    const { status, stdout } = spawnSync(process.execPath, [SCRIPT, ...args], { cwd: path, encoding: "utf8" });
    return { status, stdout };
  };
  return { path, git, commit, check, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

test("the check reads the subjects after the accepted commit", async () => {
  await using repo = await repository();
  repo.commit("Add a test");
  expect(repo.check()).toEqual({ status: 0, stdout: "" });
  repo.commit("Keep a test");
  expect(repo.check()).toEqual({ status: 1, stdout: expect.stringMatching(/^"Keep a test" starts with .*\n$/) });
});

test("the check passes with one line where the accepted commit is unknown", async () => {
  await using repo = await repository();
  repo.commit("Keep a test");
  const notChecked = { status: 0, stdout: expect.stringMatching(/^Commit subjects are not checked: .*\n$/) };
  await writeFile(join(repo.path, "check/commits-since.txt"), `${"0".repeat(40)}\n`);
  expect(repo.check()).toEqual(notChecked);
  await rm(join(repo.path, ".git"), { recursive: true });
  expect(repo.check()).toEqual(notChecked);
});

test("the hook reads the message of one commit, without comments", async () => {
  await using repo = await repository();
  const message = join(repo.path, "message");
  const check = async (text: string) => {
    await writeFile(message, text);
    return repo.check(message).status;
  };
  expect(await check("# a comment\n\nAdd a test\n\nThe cause of the fault of the test.\n")).toBe(0);
  expect(await check("Keep a test\n")).toBe(1);
  expect(await check("fixup! Keep a test\n")).toBe(0);
  expect(await check("# nothing\n")).toBe(0);
});
