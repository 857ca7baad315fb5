import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { test } from "vitest";
import { expectMounted, programFolder } from "../support/mounted-page.ts";

const PACKAGES = ["next@16.4.6", "react@19", "react-dom@19"];
const run = promisify(execFile);

const folder = programFolder(async (path) => {
  await writeFile(join(path, "package.json"), JSON.stringify({ name: "shop", private: true, type: "module" }));
  await run("npm", ["install", "--no-audit", "--no-fund", ...PACKAGES], { cwd: path });
  await mkdir(join(path, "pages"), { recursive: true });
  await writeFile(join(path, "pages/index.js"), "export default () => 'The shop';");
});

test("a control plane in Next.js answers clients and runtimes below its prefix", async () => {
  await expectMounted(folder, "Next.js with a custom server", { ownSockets: true });
});
