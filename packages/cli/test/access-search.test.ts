import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { adoptCases } from "@patchbay/access-lab/search/adopt";
import type { Adequacy } from "@patchbay/access-lab/search/adequacy";
import { NoAnswer } from "@patchbay/access-lab/search/judge-process";
import { launchJudge } from "../src/search-child.ts";
import { runCommand } from "./support/command.ts";
import { desk, POLICY, SERVICE } from "./support/search-desk.ts";

const run = promisify(execFile);

test("a search shows calls whose decisions no case has, and --adopt writes them as cases", async () => {
  await using service = await desk();
  await service.edit("policy.ts", "owners[order] === userId", '(owners[order] === userId || userId === "root")');
  await service.edit("service.ts", "        foreign:", "        // foreign:");

  const { code, stdout } = await service.access("--search", "--adopt");

  expect(code).toBe(0);
  expect(stdout).toContain('new  staff denied, boss allowed: { input: { order: "a", amount: 0 } }');
  expect(stdout).toContain("Wrote one case to ");
  expect(await service.read("service.ts")).toContain('found1: { input: { order: "a", amount: 0 } },');
  expect((await service.access("--search")).stdout).toContain("Its cases show every combination");
  expect(service.wasHandled()).toBe(false);
});

test("a function without cases gets them before its handler", async () => {
  await using service = await desk();
  await service.edit(
    "service.ts",
    "cases: { low: { input: { on: true, level: 0 } }, high: { input: { on: true, level: 3 } } },",
    "",
  );
  const path = join(service.path, "service.ts");
  const call = { input: { on: true, level: 2 }, context: {} };

  const adopted = await adoptCases([{ functionName: "toggle", call }], new Set([path]));

  expect(adopted).toMatchObject({ files: [path], left: [] });
  expect(await service.read("service.ts")).toContain(
    "cases: {\n        found1: { input: { on: true, level: 2 } },\n      },\n      handler,\n      input: z.object({ on:",
  );
});

test("cases that are not an object in the definition are printed", async () => {
  await using service = await desk();
  await service.edit(
    "service.ts",
    "cases: { low: { input: { on: true, level: 0 } }, high: { input: { on: true, level: 3 } } },",
    "cases: low,",
  );
  await service.edit(
    "service.ts",
    "const handler",
    "const low = { low: { input: { on: true, level: 0 } } };\nconst handler",
  );

  expect((await service.access("--search", "--adopt")).stdout).toContain(
    "The cases of toggle are not an object in its definition. Add: { input: { on: false, level: 0 } }",
  );
});

test("a call that a revision refused is a widening, shortened, and no handler runs", async () => {
  await using service = await desk();
  await service.edit(
    "policy.ts",
    "owners[order] === userId;",
    "owners[order] === userId;\n}\nexport function isLarge(amount: number): boolean {\n  return amount > 50;",
  );
  await service.edit(
    "service.ts",
    "isOwn(input.order, context.userId)",
    "isOwn(input.order, context.userId) || isLarge(input.amount)",
  );
  await service.edit("service.ts", "import { isOwn }", "import { isLarge, isOwn }");

  const { code, stdout, stderr } = await service.access("--search", "--against", "HEAD");

  expect(code).toBe(1);
  expect(stdout).toMatch(/ {2}widening {3}staff allowed, was denied: \{ input: \{ order: "\w*", amount: 51 \} \}\n/);
  expect(stdout).toContain(
    "hours  proved: role lists and equal schemas decide\n  No call that is allowed now was denied before.",
  );
  expect(stderr).toContain("error: One widening since HEAD.");
  expect(service.wasHandled()).toBe(false);

  expect((await service.access("--search", "--against", "HEAD", "--adopt")).stdout).toContain("Wrote one case to ");
  expect(await service.read("service.ts")).toMatch(/found1: \{ input: \{ order: "\w*", amount: 51 \} \},/);
});

test("an unchanged service has no differences, and a small domain is proved", async () => {
  await using service = await desk();
  const { code, stdout } = await service.access("--search", "--against", "HEAD", "--json");

  expect(code).toBe(0);
  const { ok, seed, functions } = JSON.parse(stdout) as { ok: boolean; seed: number; functions: object[] };
  expect({ ok, seed }).toEqual({ ok: true, seed: 1 });
  expect(functions).toMatchObject([
    { functionName: "hours", word: "proved", widenings: [], narrowings: [] },
    { functionName: "refund", word: "tested", widenings: [], narrowings: [] },
    { functionName: "toggle", word: "tested", widenings: [], narrowings: [] },
  ]);

  const closed = SERVICE.replace("userId: z.string().optional()", "isAdmin: z.boolean().optional()").replace(
    "context.userId",
    "undefined",
  );
  await using other = await desk({ "service.ts": closed });
  await other.edit("service.ts", "input.level < 2", "input.level <= 2");
  const small = await other.access("--search", "--against", "HEAD");

  expect(small.stdout).toContain(
    "toggle  proved: 24 calls, which are all that differ\n  widening   staff allowed, was denied: { input: { on: true, level: 2 } }",
  );
});

test("a wider schema and another role list are found, and what is refused now is a narrowing", async () => {
  await using service = await desk();
  await service.edit("service.ts", "max(100)", "max(1000)");
  await service.edit(
    "service.ts",
    'description: "Opening hours.", roles: ["staff"]',
    'description: "Opening hours.", roles: ["boss"]',
  );

  const { stdout } = await service.access("--search", "--against", "HEAD");

  expect(stdout).toMatch(
    /widening {3}(staff, )?boss allowed, was denied: \{ input: \{ order: "\w*", amount: 10[01](\.01)? \}/,
  );
  expect(stdout).toMatch(/hours[^]*narrowing {2}staff denied, was allowed/);
});

test("a revision that cannot be compared is named", async () => {
  await using service = await desk();
  const against = async (ref: string) => (await service.access("--search", "--against", ref)).stderr;

  expect(await against("missing")).toContain("--against missing: git does not know this revision.");
  await service.write("policy.ts", `${POLICY}\nthrow new Error("not today");`);
  await run("git", [
    "-c",
    "user.name=a",
    "-c",
    "user.email=a@example.com",
    "-C",
    service.path,
    "commit",
    "-qam",
    "second",
  ]);
  await service.write("policy.ts", POLICY);
  expect(await against("HEAD")).toContain("Error: not today");
  await run("git", ["-C", service.path, "mv", "service.ts", "desk.ts"]);
  await run("git", [
    "-c",
    "user.name=a",
    "-c",
    "user.email=a@example.com",
    "-C",
    service.path,
    "commit",
    "-qm",
    "third",
  ]);
  await service.write("service.ts", SERVICE);
  expect(await against("HEAD")).toContain("--against HEAD: service.ts does not exist in this revision.");
});

test("mutants that no case kills are shown with their line and a call, and adopted calls kill them", async () => {
  await using service = await desk();
  const { code, stdout, stderr } = await service.access("--mutants", "--min-killed", "90");

  expect(code).toBe(1);
  expect(stdout).toContain(
    "survived  policy.ts:4  userId !== undefined && owners[order] === userId  →  owners[order] === userId\n  refund as staff is allowed instead of denied with ",
  );
  expect(stderr).toMatch(/error: The cases kill [\d.]+ % of the mutants, fewer than the 90 % of --min-killed/);

  await service.access("--mutants", "--adopt");
  const after = await service.access("--mutants", "--min-killed", "100", "--json");

  expect(JSON.parse(after.stdout)).toMatchObject({ percent: 100, survivors: [] });
  expect(after.code).toBe(0);
  expect(service.wasHandled()).toBe(false);
});

test("a mutant that decides every call of a small domain as the original is not counted", async () => {
  const text = SERVICE.replace("userId: z.string().optional()", "isAdmin: z.boolean().optional()")
    .replace("isOwn(input.order, context.userId)", "false")
    .replace("input.on && input.level < 2", "input.on && (input.level < 2 || input.level === 1)");
  await using service = await desk({ "service.ts": text });

  const { stdout } = await service.access("--mutants", "--json");

  const { equivalent, survivors } = JSON.parse(stdout) as Adequacy;
  expect(equivalent).toBeGreaterThan(0);
  expect(survivors.filter(({ mutant }) => mutant.after === "input.level < 2")).toEqual([]);
});

test("a service that never decides ends the search with its name", async () => {
  await using service = await desk();
  await service.edit("policy.ts", "return userId", "for (;;) owners;\n  return userId");
  using child = await launchJudge(join(service.path, "service.ts"), { name: "the desk", timeoutMs: 5_000 });
  const calls = [{ input: { order: "a", amount: 1 }, context: {} }];

  expect(await child.judge("hours", ["none", "staff"], [{ input: {}, context: {} }])).toEqual(["ha"]);
  const answer = child.judge("refund", ["staff"], calls);
  await expect(answer).rejects.toThrow(NoAnswer);
  await expect(answer).rejects.toThrow("the desk did not decide calls of refund within 5 s.");
});

test("options of the search need it", async () => {
  await using service = await desk();
  const refused = async (...args: string[]) =>
    (await runCommand(["access", "service.ts", ...args], { cwd: service.path })).stderr;

  expect(await refused("--against", "HEAD")).toContain("--against needs --search or --check.");
  expect(await refused("--adopt")).toContain("--adopt needs --search or --mutants.");
  expect(await refused("--min-killed", "90")).toContain("--min-killed needs --mutants.");
  expect(await refused("--mutants", "--min-killed", "101")).toContain("expected a number from 0 to 100");
});
