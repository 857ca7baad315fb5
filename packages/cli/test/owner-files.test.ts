import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { runCommand, temporaryFolder } from "./support/command.ts";
import { OWNER_FORMS } from "./support/owner-forms.ts";

interface Loaded {
  name?: string;
  error?: string;
  files: string[];
}

const SCRIPT = fileURLToPath(new URL("support/load-services.ts", import.meta.url));
const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Writes a package that can import Patchbay and zod. */
async function writePackage(folder: string, type: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(join(folder, "node_modules/@patchbay"), { recursive: true });
  await symlink(at("../../functions"), join(folder, "node_modules/@patchbay/functions"));
  await symlink(at("../../../node_modules/zod"), join(folder, "node_modules/zod"));
  const all = { "package.json": JSON.stringify(type === "none" ? {} : { type }), ...files };
  for (const [name, text] of Object.entries(all)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

/** Loads all files in one process, as a command does with its one. */
async function loadAll(paths: string[]): Promise<Map<string, Loaded>> {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, ...paths], { maxBuffer: 64 * 1024 * 1024 });
  const lines = stdout.trim().split("\n");
  return new Map(paths.map((path, i) => [path, JSON.parse(lines[i] ?? "{}") as Loaded]));
}

const WRONG = {
  right: "",
  throws: 'throw new Error("wrong");',
  "does not parse": "const broken: = 3;",
  "breaks a rule of functions": 'defineFunction({ name: "x" });',
};
type Variant = keyof typeof WRONG;

const ROWS = OWNER_FORMS.flatMap(({ name, types, files }) => types.map((type) => ({ name, type, files })));

describe("files as owners have them", () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let results: Map<string, Loaded>;
  const pathOf = (row: (typeof ROWS)[number], variant: Variant) =>
    join(folder.path, `${ROWS.indexOf(row)}-${Object.keys(WRONG).indexOf(variant)}`, Object.keys(row.files)[0] ?? "");
  const lineOf = ({ files }: (typeof ROWS)[number]) => (Object.values(files)[0] ?? "").split("\n").indexOf("WRONG") + 1;

  beforeAll(async () => {
    folder = await temporaryFolder();
    const paths: string[] = [];
    for (const row of ROWS)
      for (const variant of Object.keys(WRONG) as Variant[]) {
        const [main = "", source = ""] = Object.entries(row.files)[0] ?? [];
        const path = pathOf(row, variant);
        const files = { ...row.files, [main]: source.replace("WRONG", WRONG[variant]) };
        await writePackage(path.slice(0, -main.length - 1), row.type, files);
        paths.push(path);
      }
    results = await loadAll(paths);
    return () => folder[Symbol.asyncDispose]();
  });

  test.each(ROWS)("$name loads in a package of type $type", (row) => {
    const path = pathOf(row, "right");
    expect(results.get(path)).toMatchObject({ name: "ok", files: expect.arrayContaining([path]) });
  });

  test.each(ROWS)("errors in $name name its line, type $type", (row) => {
    const expected = (variant: Variant, error: string) =>
      expect(results.get(pathOf(row, variant))?.error).toMatch(`${pathOf(row, variant)}:${lineOf(row)}:${error}`);
    expected("throws", "7: Error: wrong");
    expected("breaks a rule of functions", '1: DefinitionError: Function "x"');
    const column = pathOf(row, "right").endsWith("js") ? /:(7|15)/ : /:15/;
    const { error = "" } = results.get(pathOf(row, "does not parse")) ?? {};
    expect(error.startsWith(`${pathOf(row, "does not parse")}:${lineOf(row)}:`)).toBe(true);
    expect(error.split("\n")[0]).toMatch(new RegExp(`${column.source}: SyntaxError: `));
    expect(error.split("\n")[1]).toBe(WRONG["does not parse"]);
  });
});

test.each([
  [
    "a missing file",
    'import { value } from "./lib";\nimport "./missing";\n',
    /service\.ts:2:8: Error: Cannot find module '.*missing'/,
  ],
  [
    "a missing package",
    'const name = 1;\nimport x from "missing";\nx();\n',
    /service\.ts:2:15: Error: Cannot find (module|package) 'missing'/,
  ],
  ["an imported file that throws", 'import "./throws";\n', /throws\.ts:3:\d+: TypeError: /],
  [
    "an imported file that does not parse",
    'import "./broken";\n',
    /broken\.ts:2:14: SyntaxError: .*\nconst text = ;\n {13}\^$/,
  ],
  [
    "a decorator of the standard",
    "const d = () => {};\nclass A { @d get() {} }\n",
    /service\.ts:2:11: SyntaxError: Decorators need "experimentalDecorators": true/,
  ],
  ["no service", "export const a = 1;\n", /service\.ts exports no service\. Add `export default defineService/],
])("%s is reported where the owner wrote it", async (_what, source, reason) => {
  for (const type of ["module", "commonjs"]) {
    await using folder = await temporaryFolder();
    await writePackage(folder.path, type, {
      "service.ts": source,
      "lib.ts": "export const value = 1;\n",
      "throws.ts":
        "interface Shape { size: number }\nconst shape = undefined as unknown as Shape;\nexport const size = shape.size;\n",
      "broken.ts": "interface Shape {}\nconst text = ;\n",
    });
    const path = join(folder.path, "service.ts");
    const { error } = (await loadAll([path])).get(path) ?? {};
    expect(error).toMatch(reason);
    expect(error).not.toMatch(/^\s+at /m);
  }
});

test.each([
  ["service.js", false],
  ["service.ts", true],
])("%s loads the TypeScript compiler: %s", async (name, expected) => {
  await using folder = await temporaryFolder();
  await writePackage(folder.path, "module", {
    [name]:
      'import { defineService } from "@patchbay/functions";\nexport default defineService({ name: "ok", functions: [] });\n',
  });
  const script = `
    const { loadService } = await import(${JSON.stringify(at("../src/service-file.ts"))});
    await loadService(${JSON.stringify(join(folder.path, name))});
    console.log(JSON.stringify(process.report.getReport().sharedObjects));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  const libraries = JSON.parse(stdout) as string[];
  expect(libraries.some((path) => path.includes("oxc-transform"))).toBe(expected);
});

test("access of a CommonJS package in TypeScript prints its table", async () => {
  await using folder = await temporaryFolder();
  const { files } = OWNER_FORMS.find(({ name }) => name === "tsconfig paths") ?? OWNER_FORMS[0]!;
  const text = (files["service.ts"] ?? "").replace("WRONG", "");
  await writePackage(folder.path, "commonjs", { ...files, "service.ts": text });

  const { code, stdout, stderr } = await runCommand(["access", "service.ts"], { cwd: folder.path });

  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.not.stringContaining("Warning") });
  expect(stdout).toContain("greet");
});
