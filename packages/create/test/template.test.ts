import { readFileSync } from "node:fs";
import { compareAccess, lockOf, parseLock } from "@patchbay/functions/access";
import { startTestServer } from "@patchbay/functions/testing";
import { expect, test } from "vitest";
import service from "../template/service.ts";
import { testFolder } from "./support/host.ts";

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), "utf8");

test("access.lock.json is the access of the service", async () => {
  const lock = parseLock(read("template/access.lock.json"));

  expect(compareAccess(lock, await lockOf(service))).toEqual([]);
  expect(Object.keys(lock.functions)).toHaveLength(3);
});

test("the service has an open function, one for a role, and one with authorize and a restricted field", () => {
  const { functions, roles } = service.manifest;
  const summary = functions.map(({ roles, conditional, restrictedFields }) => [roles, conditional, restrictedFields]);

  expect(roles).toEqual(["member", "librarian"]);
  expect(summary).toEqual([
    ["everyone", false, undefined],
    [["librarian"], false, undefined],
    [["member", "librarian"], true, ["note"]],
  ]);
  expect(service.access.get("get_loan")?.cases.size).toBe(4);
});

/** The example queries, and a part of the answer that the offline model gives. */
const ANSWERS = new Map([
  ["Which travel books do you have?", "| The Rhine by Rail | travel | 2 |"],
  ["When is loan L-100 due?", "**Due date:** 2027-03-01"],
  ["When is loan L-101 due?", "failed: Members can read only their own loans."],
  ["What is the note of loan L-100?", "**Note:** Cover is torn"],
  ["Extend loan L-101", "Done: **Extend loan** (L-101)."],
]);

test("the offline model answers each example query", async () => {
  const { exampleQueries = [] } = service.manifest;
  expect(exampleQueries.map(({ query }) => query)).toEqual([...ANSWERS.keys()]);
  await using server = await startTestServer<string>(service);

  for (const query of exampleQueries) {
    const { answer } = await server.query(query);
    expect(answer.response).toContain(ANSWERS.get(query.query));
  }
});

test("the README sends the example queries", () => {
  const queries = [
    ...read("template/README.md").matchAll(/^npm run query -- "([^"]+)"(?: --role (\w+))?(?: --context '([^']+)')?/gm),
  ].map(([, query, role, context]) => ({
    query,
    ...(role !== undefined && { role }),
    ...(context !== undefined && { context: JSON.parse(context) as object }),
  }));

  expect(queries).toEqual(service.manifest.exampleQueries);
});

test("the packages of a new service have the versions that this repository tests with", async () => {
  await using folder = await testFolder();
  await folder.create({ folder: "shop" });
  const made = JSON.parse(await folder.read("shop/package.json")) as Record<string, Record<string, string>>;
  const root = JSON.parse(read("../../package.json")) as { devDependencies: Record<string, string> };
  const { version } = JSON.parse(read("package.json")) as { version: string };
  const [, zod] = /^ {2}zod: (.+)$/m.exec(read("../../pnpm-workspace.yaml")) ?? [];

  expect({ ...made["dependencies"], ...made["devDependencies"] }).toEqual({
    "@patchbay/cli": `^${version}`,
    "@patchbay/control-plane": `^${version}`,
    "@patchbay/functions": `^${version}`,
    "@types/node": `^${root.devDependencies["@types/node"]}`,
    typescript: `^${root.devDependencies["typescript"]}`,
    vitest: `^${root.devDependencies["vitest"]}`,
    zod: `^${zod}`,
  });
});

test("every command of its texts is a script", async () => {
  await using folder = await testFolder();
  const { files } = await folder.create({ folder: "shop" });
  const { scripts } = JSON.parse(await folder.read("shop/package.json")) as { scripts: Record<string, string> };

  const texts = await Promise.all(files.map((file) => folder.read(`shop/${file}`)));
  const named = new Set([...texts.join("\n").matchAll(/npm (?:run )?(\w+)/g)].map(([, name = ""]) => name));

  expect([...named].filter((name) => !(name in scripts))).toEqual([]);
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(["dev", "test", "roles", "connect"]));
});
