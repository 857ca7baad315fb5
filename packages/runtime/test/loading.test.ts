import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const index = new URL("../src/index.ts", import.meta.url).href;

/** Runs `source` with this package in a new process, and lists the schema libraries that the package loads for it. */
async function loadedBy(source: string): Promise<string[]> {
  const program = `
    import { registerHooks } from "node:module";
    const loaded = new Set();
    const sources = new URL(".", ${JSON.stringify(index)}).href;
    registerHooks({
      resolve(name, context, next) {
        if (context.parentURL?.startsWith(sources) && /^(ajv|zod)/.test(name)) loaded.add(name);
        return next(name, context);
      },
    });
    const { defineFunction } = await import(${JSON.stringify(index)});
    const probe = { name: "probe", description: "x", roles: "everyone", handler: () => null };
    ${source}
    console.log(JSON.stringify([...loaded]));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
  return JSON.parse(stdout) as string[];
}

const withZod = (name: string) =>
  `const { z } = await import("${import.meta.resolve(name)}"); defineFunction({ ...probe, input: z.object({ a: z.string().email() }) });`;

test.each([
  ["zod", []],
  ["zod42", []],
  ["zod41", ["zod/v4/core"]],
  ["zod3", ["zod-to-json-schema"]],
])("owners on %s load %j", async (name, loaded) => {
  expect(await loadedBy(withZod(name))).toEqual(loaded);
});

test("raw JSON Schema loads ajv when the first function is defined", async () => {
  expect(await loadedBy(`defineFunction({ ...probe, input: { type: "object" } });`)).toEqual(["ajv/dist/2020.js"]);
});
