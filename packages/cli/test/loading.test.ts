import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";
import { serviceSource } from "./support/service-source.ts";

async function folderWith(source: string) {
  const folder = await temporaryFolder();
  await writeFile(join(folder.path, "service.ts"), source);
  return folder;
}

const WAITS = "const timer = setInterval(() => {}, 1000); await new Promise(() => {});";
const NOISE = 'console.log("noise"); process.stdout.write("more noise\\n");';

test.each(["SIGTERM", "SIGINT"] as const)(
  "dev warns that a file is still loading, and %s stops it with 0",
  async (signal) => {
    await using folder = await folderWith(serviceSource({ before: WAITS }));
    await using dev = startCommand(["dev", "--port", "0", "--json"], { cwd: folder.path });

    await dev.seen(/service\.ts is still loading/);
    dev.process.kill(signal);

    expect(await dev.finished).toMatchObject({ code: 0, stdout: "" });
  },
);

test("output of a file goes to stderr when stdout is for the result", async () => {
  await using folder = await folderWith(serviceSource({ before: NOISE }));
  for (const args of [
    ["access", "--json"],
    ["access", "--markdown"],
    ["doctor", "--port", "0", "--json"],
  ]) {
    const { code, stdout, stderr } = await runCommand(args, { cwd: folder.path });

    expect({ args, code }).toEqual({ args, code: 0 });
    expect(stdout).not.toContain("noise");
    expect(stderr).toContain("noise\nmore noise\n");
    if (args.includes("--json")) expect(() => JSON.parse(stdout)).not.toThrow();
  }
});

test("connect --json prints only its own line on stdout", async () => {
  await using folder = await folderWith(serviceSource({ before: NOISE }));
  await using serve = startCommand(["serve", "--port", "0", "--json", "--data-dir", "data"], {
    cwd: folder.path,
    env: { PATCHBAY_PROVIDER: "offline" },
  });
  const { baseUrl } = JSON.parse(await serve.seen(/^\{"ready".*\}$/m)) as { baseUrl: string };
  const admin = async (...args: string[]) =>
    JSON.parse((await runCommand([...args, "--data-dir", "data", "--json"], { cwd: folder.path })).stdout);
  const { agentId } = await admin("agents", "create", "Desk");
  const { runtimeKey } = await admin("runtime-keys", "create", "--agent", agentId);

  const env = { PATCHBAY_RUNTIME_KEY: runtimeKey };
  const args = ["connect", "service.ts", "--url", baseUrl, "--agent", agentId, "--json"];
  await using runtime = startCommand(args, { cwd: folder.path, env });
  await runtime.seen(/^\{"ready".*\}$/m);
  runtime.process.kill("SIGTERM");

  const { code, stdout, stderr } = await runtime.finished;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ ready: true, agentId });
  expect(stderr).toContain("noise\nmore noise\n");
});

const endings: [what: string, before: string, reason: string][] = [
  ["ends the process while it loads", "process.exit(0);", "ended the process (exit code 0)"],
  [
    "ends the process after it has loaded",
    "queueMicrotask(() => process.nextTick(() => process.exit(0)));",
    "ended the process",
  ],
  ["never finishes loading", "await new Promise(() => {});", "a top-level await never settles"],
];

test.each(endings)("access --check of a file that %s exits 1 with the reason", async (_what, before, reason) => {
  await using folder = await folderWith(serviceSource());
  expect((await runCommand(["access", "--write"], { cwd: folder.path })).code).toBe(0);
  await writeFile(join(folder.path, "service.ts"), serviceSource({ before }));

  const { code, stderr } = await runCommand(["access", "--check"], { cwd: folder.path });

  expect(code).toBe(1);
  expect(stderr).toContain(reason);
});
