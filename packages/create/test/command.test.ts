import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runCommand } from "../../cli/test/support/command.ts";
import { testFolder } from "./support/host.ts";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));

test("the command creates a service and prints the next three commands", async () => {
  await using folder = await testFolder();

  const done = await runCommand(["shop", "--no-install"], { main, cwd: folder.path });

  expect(done).toEqual({
    code: 0,
    stdout: `Created shop in ${join(folder.path, "shop")}.\n\nNext:\n  cd shop\n  npm install\n  npm run dev\n`,
    stderr: "",
  });
});

test("patchbay init does the same in its folder, also with one JSON object on stdout", async () => {
  await using folder = await testFolder();
  const init = (...args: string[]) =>
    runCommand(["init", "--name", "shop", "--no-install", ...args], {
      cwd: folder.path,
      env: { npm_config_user_agent: "pnpm/12.21.0 npm/? node/v26.10.0 linux x64" },
    });

  expect(await init()).toMatchObject({
    code: 0,
    stdout: `Created shop in ${folder.path}.\n\nNext:\n  pnpm install\n  pnpm run dev\n  pnpm run test\n`,
  });
  const { stdout } = await init("--overwrite", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ folder: folder.path, name: "shop", installed: false });
});

test("a refusal exits 1 with one line on stderr, of either command", async () => {
  await using folder = await testFolder();
  await writeFile(join(folder.path, "notes.txt"), "mine");

  for (const command of [{ args: [".", "--name", "shop"], main }, { args: ["init", "--name", "shop"] }]) {
    const { args, ...options } = command;
    const { code, stdout, stderr } = await runCommand(args, { ...options, cwd: folder.path });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^error: The folder .+ is not empty: it contains notes\.txt\. .+\n$/);
  }
});

test("an unknown option exits 2, and --help 0", async () => {
  expect(await runCommand(["--nonsense"], { main })).toMatchObject({ code: 2, stdout: "" });
  const help = await runCommand(["--help"], { main });
  expect(help.code).toBe(0);
  for (const option of ["--name", "--yes", "--no-install", "--overwrite", "--packages"])
    expect(help.stdout).toContain(option);
});
