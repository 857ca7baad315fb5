import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const command = [process.execPath, join(root, "packages/cli/src/main.ts")] as const;
const run = promisify(execFile);
const names = async (dataDir: string): Promise<string[]> => {
  const { stdout } = await run(command[0], [command[1], "orgs", "list", "--data-dir", dataDir, "--json"]);
  return (JSON.parse(stdout) as { items: { name: string }[] }).items.map(({ name }) => name).toSorted();
};
const administer = (dataDir: string, ...args: string[]) =>
  run(command[0], [command[1], ...args, "--data-dir", dataDir, "--json"]);

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "restore-killed-"));
  const data = join(folder, "data");
  await administer(data, "orgs", "create", "Before");
  await administer(data, "backup", join(folder, "backup.db"));
  await administer(data, "orgs", "create", "After");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Restores a copy of the database under strace, which kills the process at the nth call of `calls` that names or uses a file of it. */
async function restoreKilledAt(nth: number, calls: string): Promise<{ data: string; killed: boolean; log: string }> {
  const data = join(folder, `data-${calls.replaceAll(/\W/g, "")}-${nth}`);
  cpSync(join(folder, "data"), data, { recursive: true });
  const log = join(folder, `log-${nth}`);
  const files = ["", "-wal", "-shm", ".restoring", ".before-restore"].flatMap((part) => [
    "-P",
    `${data}/patchbay.db${part}`,
  ]);
  const strace = [
    "-f",
    "-qq",
    "-o",
    log,
    ...files,
    "-e",
    `trace=${calls}`,
    "-e",
    `inject=${calls}:signal=SIGKILL:when=${nth}`,
  ];
  const restore = [...command, "db", "restore", join(folder, "backup.db"), "--data-dir", data, "--force"];
  const killed = await run("strace", [...strace, ...restore]).then(
    () => false,
    () => true,
  );
  return { data, killed, log: readFileSync(log, "utf8") };
}

/** What is in the folder after the kill, and whether the next restore works. */
async function checkAfterKill(data: string): Promise<void> {
  expect(existsSync(join(data, "patchbay.db"))).toBe(true);
  const found = await names(data);
  expect([["After", "Before"], ["Before"]]).toContainEqual(found);
  await administer(data, "db", "restore", join(folder, "backup.db"), "--force");
  expect(await names(data)).toEqual(["Before"]);
}

const RENAMES = "rename,renameat,renameat2";
/** Every call that changes a file or a folder, or writes it to the disk. */
const ALL = `${RENAMES},link,linkat,unlink,unlinkat,ftruncate,pwrite64,write,fsync,fdatasync,openat,close`;

test("a restore that is killed at its rename leaves the database before", async () => {
  const { data, killed } = await restoreKilledAt(1, RENAMES);
  expect(killed).toBe(true);
  expect(await names(data)).toEqual(["After", "Before"]);
  await checkAfterKill(data);
});

test.runIf(process.env["PATCHBAY_TEST_KILLS"] === "all")(
  "a restore that is killed at any system call leaves the database before or the new one, complete",
  async () => {
    const seen = new Set<string>();
    for (let nth = 1; ; nth++) {
      const { data, killed, log } = await restoreKilledAt(nth, ALL);
      if (!killed) break;
      for (const [, call = ""] of log.matchAll(/ (\w+)\(/g)) seen.add(call);
      await checkAfterKill(data);
      rmSync(data, { recursive: true });
    }
    expect([...seen]).toEqual(expect.arrayContaining(["link", "unlink", "rename", "fsync"]));
  },
);
