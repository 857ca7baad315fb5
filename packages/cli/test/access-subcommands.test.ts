import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runCommand, temporaryFolder } from "./support/command.ts";

const functionsPackage = fileURLToPath(new URL("../../functions/src/index.ts", import.meta.url));
const MODES = ["search", "mutants", "attack", "explain", "what-if", "unused", "review", "evidence"];

async function shop() {
  const folder = await temporaryFolder();
  await writeFile(
    join(folder.path, "shop.ts"),
    `import { defineFunction, defineService } from ${JSON.stringify(functionsPackage)};
const input = { type: "object", properties: { id: { type: "string" } } };
export default defineService({
  name: "shop",
  functions: [
    defineFunction({
      name: "get_order", description: "Gets.", input, roles: ["customer"], handler: () => "", effect: "read",
      authorize: ({ input, context }) => input.id === context.id,
      cases: { own: { input: { id: "1" }, context: { id: "1" } }, foreign: { input: { id: "2" }, context: { id: "1" } } },
    }),
  ],
});
`,
  );
  return { ...folder, access: (...words: string[]) => runCommand(["access", ...words], { cwd: folder.path }) };
}

test("the help lists the subcommands, and each has only its own options", async () => {
  await using folder = await shop();

  const { stdout } = await folder.access("--help");
  const help = await folder.access("mutants", "--help");

  for (const mode of MODES) expect(stdout).toMatch(new RegExp(`^ {2}${mode} \\[options\\]`, "m"));
  const options = [...help.stdout.matchAll(/^ {2}(?:-h, )?(--[a-z-]+)/gm)].map(([, name = ""]) => name);
  const ofRuns = ["--data-dir", "--database", "--from-runs", "--service-token", "--url"];
  const own = ["--adopt", "--help", "--json", "--min-killed", "--seed"];
  expect(options.toSorted()).toEqual([...ofRuns, ...own].toSorted());
  const { code, stderr } = await folder.access("mutants", "shop.ts", "--check");
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("error: unknown option '--check'") });
});

test.each([
  [
    ["search", "shop.ts", "--seed", "1"],
    ["shop.ts", "--search", "--seed", "1"],
  ],
  [
    ["mutants", "shop.ts", "--seed", "1", "--min-killed", "101"],
    ["shop.ts", "--mutants", "--min-killed", "101"],
  ],
  [
    ["mutants", "--json", "shop.ts", "--seed", "1"],
    ["shop.ts", "--mutants", "--seed", "1", "--json"],
  ],
  [
    ["explain", "shop.ts", "get_order", "--role", "guest"],
    ["shop.ts", "--explain", "get_order", "--role", "guest"],
  ],
  [
    ["what-if", "shop.ts"],
    ["shop.ts", "--what-if"],
  ],
  [
    ["unused", "shop.ts"],
    ["shop.ts", "--unused"],
  ],
])("access %j runs the same as access %j", async (words, flags) => {
  await using folder = await shop();

  expect(await folder.access(...words)).toEqual(await folder.access(...flags));
});

test("attack and evidence are subcommands too", async () => {
  await using folder = await shop();

  expect((await folder.access("attack", "shop.ts")).stdout).toMatch(/^shop: 1 functions, \d+ attempts/m);
  const { stdout } = await folder.access("evidence", "shop.ts", "found", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ folder: "found" });
});

test("a service file that is named like a subcommand is written as a path", async () => {
  await using folder = await shop();
  await writeFile(join(folder.path, "unused"), `export { default } from "./shop.ts";`);

  expect((await folder.access("./unused")).stdout).toContain("get_order");
  expect((await folder.access("unused")).stderr).toContain("Name the file");
});
