import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";

const run = promisify(execFile);
const registry = inject("registry");

test.skipIf(registry === null)(
  "npm finds this repository's packages in the registry, and others through it",
  async () => {
    await using folder = await temporaryFolder();
    const view = async (...args: string[]) => (await run("npm", ["view", ...args], { cwd: folder.path })).stdout.trim();
    const versionOf = (name: string) => view(name, "version", "--registry", registry!.url);

    expect(await versionOf("@patchbay/cli")).toMatch(/^\d+\.\d+\.\d+$/);
    expect(await versionOf("zod@4.2.0")).toBe("4.2.0");

    await writeFile(join(folder.path, ".npmrc"), registry!.npmrc);
    expect(await view("@patchbay/functions", "dist.tarball")).toContain(`${registry!.url}/@patchbay/functions/-/`);
  },
);
