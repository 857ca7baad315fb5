import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const script = fileURLToPath(new URL("../install.mjs", import.meta.url));

/** A clone whose `npx` and `node` write their arguments to standard output, and exit with `code`. */
function fakeClone(code = 0) {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-install-"));
  const write = (name: string, text = "") => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  for (const name of ["npx", "node"]) {
    write(`bin/${name}`, `#!/bin/sh\necho "${name} $*"\necho "warning of ${name}" >&2\nexit ${code}\n`);
    chmodSync(join(folder, "bin", name), 0o755);
  }
  write("pnpm-lock.yaml");
  return {
    write,
    /** Makes the lockfile older than everything else. */
    age: () => utimesSync(join(folder, "pnpm-lock.yaml"), 1, 1),
    run(command: string) {
      const env = { PATH: join(folder, "bin") };
      return spawnSync(process.execPath, [script, command], { cwd: folder, env, encoding: "utf8" });
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

test("a fresh clone gets a line for each step, without the output of pnpm", () => {
  using clone = fakeClone();

  const { status, stdout, stderr } = clone.run("start");

  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toBe("Installing packages. The first time takes up to a minute.\nBuilding the console.\n");
});

test("a clone that is up to date gets no line", () => {
  using clone = fakeClone();
  clone.write("node_modules/.modules.yaml");
  clone.write("packages/console/dist/.stamp");
  clone.age();

  expect(clone.run("start")).toMatchObject({ status: 0, stdout: "", stderr: "" });
});

test("a failed installation shows the output of pnpm and the command", () => {
  using clone = fakeClone(3);

  const { status, stderr } = clone.run("start");

  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^npx --yes pnpm@12\.21\.0 install --frozen-lockfile --prefer-offline --prod\nwarning of npx\n/,
  );
  expect(stderr).toMatch(/`npx .* --prod` failed\. Fix what it reports above/);
});

test("the packages of the tests are installed for the tests, and stay", () => {
  using clone = fakeClone(3);

  expect(clone.run("test").stderr).not.toContain("--prod");
  clone.write("node_modules/.bin/vitest");
  expect(clone.run("start").stderr).not.toContain("--prod");
});
