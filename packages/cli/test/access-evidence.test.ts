import { execFile } from "node:child_process";
import { cp, mkdir, readFile, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { openStore } from "@patchbay/control-plane/admin";
import { expect, test } from "vitest";
import { administration } from "./support/administration.ts";

const EXAMPLE = join(import.meta.dirname, "../../../examples/quickstart");
const run = promisify(execFile);
const ENTRY = /^\{"seal":1,/;

/** The commands that the page for auditors gives for the folder. */
async function commandsOfPage(): Promise<string[]> {
  const page = await readFile(join(import.meta.dirname, "../../../docs/guides/evidence.md"), "utf8");
  const [, block = ""] = /```sh\ncd evidence\n([^`]*)\n```/.exec(page) ?? [];
  const commands = block.split("\n");
  expect(commands).toEqual([expect.stringMatching(/^sha256sum /), "node recheck.mjs"]);
  return commands;
}

/** Evidence of the quickstart with a sealed log, to which two agents of the organisation have added. */
async function gathered() {
  const admin = await administration();
  const { agentId = "", orgId = "" } = await admin.json("agents", "create", "Desk");
  const { agentId: other = "" } = await admin.json("agents", "create", "Other", "--org", orgId);
  const store = await openStore(`sqlite:${join(admin.folder, "patchbay.db")}`);
  await store.audit.record(
    [agentId, other].map((one) => ({ orgId, agentId: one, action: "call.succeeded", functionName: "get_ticket" })),
  );
  // Entries of the present millisecond are not sealed: others may still get the same time.
  const recordedAt = Date.now();
  await expect.poll(() => Date.now()).toBeGreaterThan(recordedAt);
  await store.audit.seal({ settleMs: 0 });
  await store.close();
  const folder = join(admin.folder, "evidence");
  const write = (file: string) => admin.run("access", file, "--evidence", folder, "--agent", agentId, "--json");
  return { admin, agentId, other, folder, write, [Symbol.asyncDispose]: () => admin[Symbol.asyncDispose]() };
}

test("evidence has checksums and a slice of the audit log that are checked without Patchbay", async () => {
  await using evidence = await gathered();
  const { folder } = evidence;

  const written = await evidence.write(join(EXAMPLE, "service.ts"));
  const again = await evidence.write(join(EXAMPLE, "service.ts"));

  expect(written).toMatchObject({ code: 0 });
  const { files, findings } = JSON.parse(written.stdout) as { files: string[]; findings: string[] };
  expect(findings).toEqual([]);
  expect((await readdir(folder)).sort()).toEqual(files);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("is not empty") });
  const sums = await run("sha256sum", ["-c", "--strict", "SHA256SUMS"], { cwd: folder });
  expect(sums.stdout.trim().split("\n")).toHaveLength(files.length - 1);
  expect(await readFile(join(folder, "access.lock.json"), "utf8")).toBe(
    await readFile(join(EXAMPLE, "access.lock.json"), "utf8"),
  );
  const adequacy = JSON.parse(await readFile(join(folder, "adequacy.json"), "utf8")) as Record<string, number>;
  expect(adequacy).toMatchObject({ seed: expect.any(Number), percent: expect.any(Number), killed: expect.any(Number) });
  expect(adequacy["killed"]).toBeGreaterThan(0);
  expect(JSON.parse(await readFile(join(folder, "search.json"), "utf8"))).toMatchObject({
    seed: adequacy["seed"],
    functions: [{ functionName: "get_ticket" }],
  });
  const attacks = JSON.parse(await readFile(join(folder, "attacks.json"), "utf8")) as {
    results: { risks: string[] }[];
  };
  expect(new Set(attacks.results.flatMap(({ risks }) => risks))).toEqual(
    new Set(["ASI01", "ASI02", "ASI03", "ASI06", "ASI07"]),
  );
  const entries = await readFile(join(folder, "audit.ndjson"), "utf8");
  expect(entries).toContain(evidence.agentId);
  expect(entries).not.toContain(evidence.other);
  for (const command of await commandsOfPage()) await run("sh", ["-c", command], { cwd: folder });
  const recheck = (...args: string[]) => run(process.execPath, ["recheck.mjs", ...args], { cwd: folder });
  const { head } = JSON.parse(await readFile(join(folder, "audit-check.json"), "utf8")) as { head: string };
  expect((await recheck(head)).stdout).toMatch(
    /^\d+ entries checked, \d+ of them by digest only; head 1:[0-9a-f]{64}\n$/,
  );
  await expect(recheck(`1:${"0".repeat(64)}`)).rejects.toMatchObject({ code: 1 });

  const lines = entries.trim().split("\n");
  expect(lines[0]).toMatch(ENTRY);
  const changed: [string, string[]][] = [
    ["was changed", lines.map((line) => line.replace("get_ticket", "close_ticket"))],
    ["are not the sealed ones", lines.slice(1)],
    ["are not the sealed ones", lines.toReversed()],
    ["are not the sealed ones", [lines[0]!, ...lines]],
  ];
  for (const [fault, forged] of changed) {
    await writeFile(join(folder, "audit.ndjson"), `${forged.join("\n")}\n`);
    await expect(recheck(), fault).rejects.toMatchObject({ code: 1, stdout: expect.stringContaining(fault) });
  }
  await expect(run("sha256sum", ["-c", "SHA256SUMS"], { cwd: folder })).rejects.toMatchObject({ code: 1 });
});

test("evidence of a service that differs from its lock, and of a changed log, is written with findings", async () => {
  await using evidence = await gathered();
  const service = join(evidence.admin.folder, "service");
  await mkdir(service);
  for (const name of ["service.ts", "access.lock.json"]) await cp(join(EXAMPLE, name), join(service, name));
  await symlink(join(import.meta.dirname, "../../../node_modules"), join(service, "node_modules"));
  const lock = JSON.parse(await readFile(join(service, "access.lock.json"), "utf8"));
  lock.functions.close_ticket.roles.support = "hidden";
  await writeFile(join(service, "access.lock.json"), JSON.stringify(lock));
  using database = new DatabaseSync(join(evidence.admin.folder, "patchbay.db"));
  database.exec("delete from audit where action = 'call.succeeded'");

  const { code, stdout } = await evidence.write(join(service, "service.ts"));

  expect(code).toBe(1);
  expect((JSON.parse(stdout) as { findings: string[] }).findings).toEqual(
    expect.arrayContaining([
      "widening: support gained close_ticket",
      expect.stringMatching(/^audit log: 2 entries were removed/),
    ]),
  );
  expect(await readFile(join(evidence.folder, "README.md"), "utf8")).toContain(
    "- widening: support gained close_ticket",
  );
});
