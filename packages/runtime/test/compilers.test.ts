import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const require = createRequire(import.meta.url);
const run = promisify(execFile);
const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

// The workspace's own compiler is TypeScript 7, which checks the same files with every other.
test("the type tests compile with TypeScript 5", async () => {
  const folder = mkdtempSync(join(tmpdir(), "compilers-"));
  const options = {
    target: "es2022",
    lib: ["esnext"],
    module: "nodenext",
    types: ["node"],
    typeRoots: [pathOf("../../../node_modules/@types")],
    strict: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  };
  const files = [pathOf("types.test.ts"), pathOf("result-types.test.ts")];
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files }));
  const compile = run(process.execPath, [require.resolve("typescript5/bin/tsc"), "-p", folder]);
  const { stdout } = await compile.catch((error: { stdout: string }) => error);
  rmSync(folder, { recursive: true });
  expect(stdout).toBe("");
});
