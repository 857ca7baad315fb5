import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FOLDERS, LIBRARIES, PACKAGES } from "./fences.ts";

const root = join(import.meta.dirname, "..");
const DEPTHS = [0, 1, 2];

/** A file with one import a line. */
interface Planted {
  file: string;
  allowed: string[];
  refused: string[];
}

const isOfControlPlane = (name: string) => name === "control-plane" || Object.values(LIBRARIES).flat().includes(name);

/** For each folder, at each depth, an import of every folder next to it and to its parent, of every package and every library. */
const inFolders: Planted[] = Object.entries(FOLDERS).flatMap(([parent, folders]) =>
  Object.entries(folders).flatMap(([folder, mayImport]) =>
    DEPTHS.map((depth): Planted => {
      const [own, within] = parent.split("/") as [string, string?];
      const packages = Object.keys(PACKAGES).filter((name) => name !== own);
      const libraries = isOfControlPlane(own) ? Object.keys(LIBRARIES) : [];
      const isAllowed = new Map<string, boolean>([
        ...nextTo(folders, folder, mayImport, depth),
        ...(within === undefined ? [] : nextTo(FOLDERS[own]!, within, FOLDERS[own]![within]!, depth + 1)),
        ...packages.map((name) => [`@patchbay/${name}`, PACKAGES[own]!.includes(name)] as const),
        ...libraries.map((name) => [name, LIBRARIES[name]!.includes(own)] as const),
      ]);
      const specifiers = [...isAllowed.keys()];
      return {
        file: `${folderOf(parent)}/${folder}/${"deep/".repeat(depth)}planted.ts`,
        allowed: specifiers.filter((name) => isAllowed.get(name)),
        refused: specifiers.filter((name) => !isAllowed.get(name)),
      };
    }),
  ),
);

/** A key of `FOLDERS` as a path. */
function folderOf(parent: string): string {
  const [own, ...within] = parent.split("/");
  return ["packages", own, "src", ...within].join("/");
}

/** The folders next to `folder`, as a file `depth` folders below it writes them, and whether it may import them. */
function nextTo(
  folders: Readonly<Record<string, readonly string[]>>,
  folder: string,
  mayImport: readonly string[],
  depth: number,
) {
  const up = "../".repeat(depth + 1);
  return [
    ...Object.keys(folders)
      .filter((name) => name !== folder)
      .map((name) => [`${up}${name}/deep/planted.ts`, mayImport.includes(name)] as const),
    [`${up}planted.ts`, mayImport.includes(".")] as const,
  ];
}

/** Imports of tests and of what else is outside the packages: entries of packages and shared support, but no sources by path. */
const outside: Planted[] = [
  ...["bench", "check", "docs/generators", "examples/desk/test", "release", "test/system"].map((place) => ({
    file: `${place}/planted.ts`,
    allowed: ["@patchbay/server/query/routes", "../packages/cli/test/support/command.ts", "../support/retail.ts"],
    refused: ["../packages/cli/src/main.ts", "../../../packages/server/src/query/routes.ts"],
  })),
  ...DEPTHS.map((depth) => {
    const up = "../".repeat(depth + 1);
    return {
      file: `packages/cli/test/${"deep/".repeat(depth)}planted.ts`,
      allowed: ["@patchbay/test-support/inbox", `${up}src/main.ts`, "./support/command.ts"],
      refused: [`${up}../../test/support/retail.ts`, `${up}../../test/console/support/pages.ts`],
    };
  }),
];

const planted = [...inFolders, ...outside];

let folder: string;
/** Lines that the linter reports, by file and rule. */
let reported: Map<string, number[]>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "patchbay-imports-"));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await copyFile(join(root, "oxlint.config.ts"), join(folder, "oxlint.config.ts"));
  await mkdir(join(folder, "check"));
  await copyFile(join(root, "check/fences.ts"), join(folder, "check/fences.ts"));
  const write = async (file: string, lines: string[]) => {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), `${lines.join("\n")}\n`);
  };
  for (const { file, allowed, refused } of planted)
    await write(
      file,
      [...refused, ...allowed].map((from, i) => `export type { A as A${i} } from "${from}";`),
    );
  await write("packages/cli/src/one.ts", ['import type { B } from "./two.ts";', "export type A = B | 1;"]);
  await write("packages/cli/src/two.ts", ['import type { A } from "./one.ts";', "export type B = A | 2;"]);
  await write("packages/engine/src/run/time.ts", [
    'import { setTimeout as delay } from "node:timers/promises";',
    'import { randomUUID } from "node:crypto";',
    "export const wall = Date.now();",
    "export const elapsed = performance.now();",
    "export const fraction = Math.random();",
    "export const id = crypto.randomUUID();",
    "export const signal = AbortSignal.timeout(1);",
    "export const timer = setTimeout(() => {}, 1);",
    "export const every = setInterval(() => {}, 1);",
    "export const next = setImmediate(() => {});",
    "export { delay, randomUUID };",
  ]);
  reported = await lint();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function lint(): Promise<Map<string, number[]>> {
  const oxlint = join(root, "node_modules/.bin/oxlint");
  const { stdout } = await promisify(execFile)(oxlint, ["--format", "json", "--ignore-pattern", "node_modules", "."], {
    cwd: folder,
    maxBuffer: 1e8,
  }).catch((error: { stdout: string }) => error);
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: { code: string; filename: string; labels: { span: { line: number } }[] }[];
  };
  const lines = new Map<string, number[]>();
  for (const { code, filename, labels } of diagnostics) {
    const key = `${filename} ${code}`;
    lines.set(key, [...(lines.get(key) ?? []), labels[0]!.span.line]);
  }
  return lines;
}

test.each(planted)("$file: the linter reports every refused import, and no other", ({ file, refused }) => {
  const lines = reported.get(`${file} eslint(no-restricted-imports)`) ?? [];

  expect(lines.toSorted((a, b) => a - b)).toEqual(refused.map((_, i) => i + 1));
});

test("the machine's time and randomness are reported in a package that a simulation runs", () => {
  const lines = (rule: string) =>
    reported.get(`packages/engine/src/run/time.ts eslint(${rule})`)?.toSorted((a, b) => a - b);
  expect(lines("no-restricted-imports")).toEqual([1, 2]);
  expect(lines("no-restricted-properties")).toEqual([3, 4, 5, 6, 7]);
  expect(lines("no-restricted-globals")).toEqual([8, 9, 10]);
});

test("a circle of types is reported", () => {
  for (const file of ["one", "two"]) expect(reported.get(`packages/cli/src/${file}.ts import(no-cycle)`)).toEqual([1]);
});

test.each([...Object.keys(PACKAGES), ...Object.keys(FOLDERS).filter((parent) => parent.includes("/"))])(
  "each folder of %s has its imports listed",
  (parent) => {
    const folders = readdirSync(join(root, folderOf(parent)), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== "styles")
      .map(({ name }) => name);

    expect(folders.toSorted()).toEqual(Object.keys(FOLDERS[parent] ?? {}).toSorted());
  },
);

test("each package has its imports listed", () => {
  expect(readdirSync(join(root, "packages")).toSorted()).toEqual(Object.keys(PACKAGES).toSorted());
});

test("no package imports what only tests import", () => {
  expect(Object.values(PACKAGES).flat()).not.toContain("test-support");
});
