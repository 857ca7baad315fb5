import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const kit = new URL("../src/testing/index.ts", import.meta.url).href;
const functions = new URL("../src/index.ts", import.meta.url).href;

/** Runs `source` in a new process that cannot resolve one package. `asked` lists the packages that were imported. */
async function runWithout(missing: string, source: string): Promise<unknown> {
  const program = `
    import { registerHooks } from "node:module";
    const asked = [];
    registerHooks({
      resolve(name, context, next) {
        if (/^[@a-z]/.test(name)) asked.push(name);
        if (name !== ${JSON.stringify(missing)}) return next(name, context);
        throw Object.assign(new Error("Cannot find package '" + name + "' imported from here"), { code: "ERR_MODULE_NOT_FOUND" });
      },
    });
    const { defineFunction, defineService } = await import(${JSON.stringify(functions)});
    const { accessMatchers, callAs, runQuery } = await import(${JSON.stringify(kit)});
    const service = defineService({ name: "s", functions: [
      defineFunction({ name: "f", description: "F.", input: { type: "object" }, roles: ["a"], handler: () => 1 }),
    ] });
    console.log(JSON.stringify(await (async () => { ${source} })()));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
  return JSON.parse(stdout);
}

test("calls and matchers need neither the control plane nor vitest", async () => {
  const source = `
    const outcome = await callAs(service, { functionName: "f", role: "a" });
    const { pass } = await accessMatchers.toDeny(service, "f", { role: "b" });
    return { outcome, pass, loaded: asked.filter((name) => /control-plane|vitest/.test(name)) };`;

  expect(await runWithout("@patchbay/control-plane", source)).toEqual({
    outcome: { ok: true, value: 1 },
    pass: true,
    loaded: [],
  });
});

test("a query without the control plane installed fails with the install command", async () => {
  const source = `return runQuery(service, { query: "Hi", model: ["Hi."] }).catch((error) => error.message);`;

  expect(await runWithout("@patchbay/control-plane", source)).toContain(
    "npm install --save-dev @patchbay/control-plane",
  );
});

test("an error of the control plane's own imports is not replaced", async () => {
  const source = `return runQuery(service, { query: "Hi", model: ["Hi."] }).catch((error) => error.message);`;

  expect(await runWithout("hono", source)).toContain("'hono'");
});
