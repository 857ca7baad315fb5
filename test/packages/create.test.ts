import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";

const registry = inject("registry");
const run = promisify(execFile);

/**
 * A cache in which npx finds no earlier build of the same version. What npm has downloaded before is shared with the cache of
 * this machine.
 */
async function npmCache(folder: string): Promise<string> {
  const { stdout } = await run("npm", ["config", "get", "cache"]);
  const cache = join(folder, "cache");
  const shared = join(stdout.trim(), "_cacache");
  for (const path of [shared, cache]) await mkdir(path, { recursive: true });
  await symlink(shared, join(cache, "_cacache"));
  return cache;
}

/** Runs npm in a folder, with this process's Node and the registry of this repository's packages. */
function npmIn(folder: string, cache: string) {
  const env = {
    ...process.env,
    PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
    // It redirects requests for other packages.
    npm_config_registry: registry!.url,
    npm_config_cache: cache,
    npm_config_update_notifier: "false",
    PATCHBAY_PROVIDER: "offline",
  };
  return {
    /** Resolves with the command's stdout. */
    run: async (...args: string[]) => (await run("npm", args, { cwd: folder, env })).stdout,
    /** Starts a script that runs until it is disposed, and resolves with its first line of JSON. */
    async start(...args: string[]) {
      // A group of its own, because npm starts the command through a shell.
      const child = spawn("npm", args, { cwd: folder, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
      let errors = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
      const closed = once(child, "close");
      for await (const line of createInterface(child.stdout))
        if (line.startsWith("{")) {
          child.stdout.resume();
          return {
            ready: JSON.parse(line) as Record<string, string>,
            async [Symbol.asyncDispose]() {
              process.kill(-child.pid!, "SIGKILL");
              await closed;
            },
          };
        }
      throw new Error(`npm ${args.join(" ")} ended without a line of JSON:\n${errors}`);
    },
  };
}

/** Writes the `.env` of a service as its `.env.example` describes it, with these values. */
async function writeEnvironment(folder: string, values: Record<string, string | undefined>): Promise<void> {
  const example = await readFile(join(folder, ".env.example"), "utf8");
  const text = example.replaceAll(/^# (PATCHBAY_\w+)=.*$/gm, (_line, name: string) => `${name}=${values[name]}`);
  await writeFile(join(folder, ".env"), text);
}

test.skipIf(registry === null)("npm create makes a service that passes its tests, answers and connects", async () => {
  await using folder = await temporaryFolder();
  const cache = await npmCache(folder.path);
  const created = await npmIn(folder.path, cache).run("create", "--yes", "@patchbay@latest", "my-service");
  expect(created).toContain("Next:\n  cd my-service\n  npm run dev\n  npm test\n");
  const made = join(folder.path, "my-service");
  const service = npmIn(made, cache);

  expect(await service.run("test")).toMatch(/4 passed/);
  await service.run("run", "types");
  expect(await service.run("run", "roles", "--", "--check")).toContain("Access matches access.lock.json.");

  await using dev = await service.start("run", "dev", "--", "--json", "--port", "0");
  expect(dev.ready).toMatchObject({ ready: true, provider: "offline" });
  const asked = ["When is loan L-100 due?", "--role", "member", "--context", '{"memberId":"ada"}'];
  const answer = await service.run("run", "--silent", "query", "--", ...asked, "--json");
  expect(JSON.parse(answer)).toMatchObject({
    success: true,
    response: expect.stringContaining("**Due date:** 2027-03-01") as string,
    toolInteractions: [{ toolName: "get_loan", success: true, result: { id: "L-100", memberId: "ada" } }],
  });

  const { baseUrl, agentId, runtimeKey, apiKey } = dev.ready;
  await writeEnvironment(made, {
    PATCHBAY_URL: baseUrl,
    PATCHBAY_AGENT: agentId,
    PATCHBAY_RUNTIME_KEY: runtimeKey,
    PATCHBAY_API_KEY: apiKey,
  });
  await using connected = await service.start("run", "connect", "--", "--json");
  expect(connected.ready).toMatchObject({ ready: true });
});
