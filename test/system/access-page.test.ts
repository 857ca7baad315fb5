import { readFileSync } from "node:fs";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import quickstart from "../../examples/quickstart/service.ts";
import { runCommand, temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { AGENT, seedCalls, type SeededCall } from "../../packages/cli/test/support/stored-calls.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const PAGES = ["access-lock", "access-search", "access-what-if", "trust-model"];
const page = PAGES.map((name) => readFileSync(join(root, `docs/guides/${name}.md`), "utf8")).join("\n");

/** Each command of the page with the output that is shown below it. */
const shown = [...page.matchAll(/```sh\n(patchbay [^`]*?)\n```\n\n```\n([^`]*?)\n```/g)].map(
  ([, command = "", output = ""]) => ({ command, output }),
);

function argumentsOf(command: string): string[] {
  const words = command.replaceAll("\\\n", " ").matchAll(/'([^']*)'|(\S+)/g);
  return [...words].map(([, quoted, plain]) => quoted ?? plain ?? "").slice(1);
}

test("the page shows the table, searches and the explanation of a call", () => {
  expect(shown.map(({ command }) => argumentsOf(command)[1])).toEqual([
    "examples/quickstart/service.ts",
    "search",
    "mutants",
    "explain",
    "explain",
  ]);
});

test.each(shown)("the output on the page is correct: $command", async ({ command, output }) => {
  const { code, stdout } = await runCommand(argumentsOf(command), { cwd: root });

  expect(stdout.trimEnd()).toBe(output);
  expect(code).toBe(0);
});

const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);

/** Writes the quickstart with the widening of the page. */
async function writeWidened(folder: string): Promise<void> {
  const code = await readFile(join(root, "examples/quickstart/service.ts"), "utf8");
  const widened = code
    .replace('"@patchbay/functions"', JSON.stringify(join(root, "packages/functions/src/index.ts")))
    .replace('"zod"', JSON.stringify(fileURLToPath(import.meta.resolve("zod"))))
    .replace('roles: ["support"]', 'roles: ["staff", "support"]')
    .replace('role === "support" || isOwn', "role !== undefined || isOwn")
    .replace('visibleTo(z.string(), ["support"])', 'visibleTo(z.string(), ["staff", "support"])');
  await writeFile(join(folder, "service.ts"), widened);
}

test("the page's sentences describe its widening correctly", async () => {
  await using folder = await temporaryFolder();
  await writeWidened(folder.path);
  await copyFile(join(root, "examples/quickstart/access.lock.json"), join(folder.path, "access.lock.json"));

  const { stdout } = await runCommand(["access", "--check"], { cwd: folder.path });

  expect(page).toContain(`\`\`\`\n${stdout}\`\`\``);
});

test("the page shows what its widening does to stored calls", async () => {
  await using folder = await temporaryFolder();
  await writeWidened(folder.path);
  const get = (ticketId: string, outcome: SeededCall["outcome"]): SeededCall => ({
    functionName: "get_ticket",
    role: "staff",
    context: { userId: "ada" },
    arguments: { ticketId },
    outcome,
  });
  const own = get("T-100", { ok: true, value: { id: "T-100" }, redacted: ["internalNote"] });
  const refused = { ok: false, code: "denied", message: "x", rule: "authorize" } as const;
  const hidden = { ok: false, code: "unknown_function", message: "x", rule: "roles" } as const;
  const close = { functionName: "close_ticket", role: "staff", arguments: { ticketId: "T-100" }, outcome: hidden };
  const hours = { functionName: "list_opening_hours", arguments: {}, outcome: { ok: true, value: {} } as const };
  await seedCalls(`sqlite:${join(folder.path, "patchbay.db")}`, quickstart.manifest, [
    ...times(3, own),
    ...times(2, get("T-101", refused)),
    close,
    ...times(4, hours),
  ]);

  const args = ["access", "service.ts", "--what-if", "--agent", AGENT, "--data-dir", "."];
  const { stdout } = await runCommand(args, { cwd: folder.path });

  expect(page).toContain(`\`\`\`\n${stdout}\`\`\``);
});

test("the cases of the retail desk kill 90 % of its mutants", async () => {
  const args = ["access", "examples/retail-desk/service.ts", "--mutants", "--min-killed", "90", "--seed", "1"];

  expect(await runCommand(args, { cwd: root })).toMatchObject({ code: 0, stderr: "" });
});
