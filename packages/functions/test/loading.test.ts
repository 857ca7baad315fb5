import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const index = new URL("../src/index.ts", import.meta.url).href;

/** Runs `source` with this package in a new process, and lists the CommonJS packages that were loaded. */
async function loadedBy(source: string): Promise<{ ajv: boolean; converter: boolean }> {
  const program = `
    const { defineFunction } = await import(${JSON.stringify(index)});
    const { createRequire } = await import("node:module");
    const require = createRequire(${JSON.stringify(index)});
    const probe = { name: "probe", description: "x", roles: "everyone", handler: () => null };
    ${source}
    const files = Object.keys(require.cache).map((file) => file.replaceAll("\\\\", "/"));
    const has = (part) => files.some((file) => file.includes(part));
    console.log(JSON.stringify({ ajv: has("/ajv/"), converter: has("/zod-to-json-schema/") }));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    timeout: 15_000,
  });
  return JSON.parse(stdout) as { ajv: boolean; converter: boolean };
}

test("owners on zod 4 load neither ajv nor the converter of zod 3", async () => {
  const source = `const { z } = await import("${import.meta.resolve("zod")}"); defineFunction({ ...probe, input: z.object({ a: z.email() }) });`;

  expect(await loadedBy(source)).toEqual({ ajv: false, converter: false });
});

test("raw JSON Schema loads ajv when the first function is defined", async () => {
  expect(await loadedBy(`defineFunction({ ...probe, input: { type: "object" } });`)).toEqual({
    ajv: true,
    converter: false,
  });
});
