import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { install, type Installation } from "../../bench/build.ts";
import {
  type CommandOptions,
  type Running,
  runCommand,
  startCommand,
  temporaryFolder,
} from "../../packages/cli/test/support/command.ts";

/** The packages as published, installed only with the dependencies that they declare. */
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let installation: Installation;
let service: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  installation = await install(folder.path);
  const source = join(folder.path, "source.js");
  writeFileSync(source, SERVICE);
  service = installation.addService(source);
});
afterAll(() => folder[Symbol.asyncDispose]());

const SERVICE = `
import { defineFunction, defineService } from "@patchbay/functions";
import { z } from "zod";
const greet = defineFunction({
  name: "greet",
  description: "Greets a person by name.",
  input: z.object({ name: z.string() }),
  roles: ["staff"],
  effect: "read",
  handler: ({ name }) => "Hello, " + name + "!",
});
export default defineService({ name: "desk", functions: [greet] });
`;

const options = (env: Record<string, string> = {}): CommandOptions => ({
  main: installation.command,
  cwd: folder.path,
  env,
});

async function readyLine(running: Running): Promise<Record<string, string>> {
  return JSON.parse(await running.seen(/^\{"ready".*\}$/m)) as Record<string, string>;
}

async function admin(...args: string[]): Promise<Record<string, string>> {
  const { code, stdout, stderr } = await runCommand([...args, "--json"], options());
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Record<string, string>;
}

test("the published command serves, connects, answers a query, lists its thread and makes a backup", async () => {
  const { agentId = "", apiKey = "" } = await admin("agents", "create", "Desk");
  const { runtimeKey = "" } = await admin("runtime-keys", "create", "--agent", agentId);
  await using serve = startCommand(["serve", "--port", "0", "--json"], options({ PATCHBAY_PROVIDER: "offline" }));
  const { baseUrl = "" } = await readyLine(serve);
  const target = { PATCHBAY_URL: baseUrl, PATCHBAY_AGENT: agentId };
  await using connect = startCommand(
    ["connect", service, "--json"],
    options({ ...target, PATCHBAY_RUNTIME_KEY: runtimeKey }),
  );
  await readyLine(connect);

  const ask = ["query", 'Greet "Ann"', "--role", "staff", "--json"];
  const answered = await runCommand(ask, options({ ...target, PATCHBAY_API_KEY: apiKey }));

  expect(answered.code, answered.stderr).toBe(0);
  expect(JSON.parse(answered.stdout)).toMatchObject({ toolInteractions: [{ success: true, result: "Hello, Ann!" }] });
  // Lists are read by a worker thread with its own file.
  const threads = await fetch(`${baseUrl}/agents/${agentId}/threads`, { headers: { "X-API-Key": apiKey } });
  expect(await threads.json()).toMatchObject({ items: [{ title: 'Greet "Ann"' }] });
  expect(await admin("backup", "copy.db")).toMatchObject({ file: "copy.db" });
});

test("the published command contains the console and all files of its page", async () => {
  const args = ["serve", "--port", "0", "--data-dir", "console", "--json"];
  await using serve = startCommand(args, options({ PATCHBAY_PROVIDER: "offline" }));
  const { baseUrl = "", setupUrl = "" } = await readyLine(serve);
  expect(setupUrl).toContain(`${baseUrl}/console/link#`);

  const page = await fetch(`${baseUrl}/console/agents`);
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  const assets = [...(await page.text()).matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path]) => path!);
  for (const kind of [".js", ".css", ".svg"])
    expect(
      assets.some((path) => path.endsWith(kind)),
      kind,
    ).toBe(true);
  for (const path of [...assets, "/console/THIRD-PARTY-LICENSES.txt"]) {
    const { status, headers } = await fetch(baseUrl + path);
    expect([path, status]).toEqual([path, 200]);
    // A missing file would be answered with the page.
    expect(headers.get("content-type")).not.toContain("text/html");
  }
});

/** What a first request for it loads, and memory that a service without it need not pay. By the names of the built files. */
const LOADED_LATER = [
  "sqlite-reader-thread",
  "console-api",
  "open-postgres",
  "nats-bus",
  "tracing",
  "serve-",
  "fingerprint",
];

test("the published server loads few files at start, and none of what is loaded when it is first used", async () => {
  const list = join(folder.path, "loaded.txt");
  const lister = join(folder.path, "lister.mjs");
  // Also in the threads of the process.
  writeFileSync(
    lister,
    `import { registerHooks } from "node:module";
    import { appendFileSync } from "node:fs";
    const note = (url) => appendFileSync(${JSON.stringify(list)}, url + "\\n");
    registerHooks({ load: (url, context, next) => (url.startsWith("file:") && note(url), next(url, context)) });`,
  );
  const env = { PATCHBAY_PROVIDER: "offline", NODE_OPTIONS: `--import=${pathToFileURL(lister).href}` };
  await using serve = startCommand(["serve", "--port", "0", "--data-dir", "few", "--json"], options(env));
  const { baseUrl = "" } = await readyLine(serve);
  const loaded = () => new Set(readFileSync(list, "utf8").trim().split("\n"));
  const namesOf = (files: Iterable<string>) => [...files].map((file) => file.slice(file.lastIndexOf("/") + 1));
  const isLater = (name: string) => LOADED_LATER.some((part) => name.startsWith(part));

  // Without bundling they are 768, and each costs time and memory.
  expect(loaded().size).toBeLessThan(90);
  expect(namesOf(loaded()).filter(isLater)).toEqual([]);

  await fetch(`${baseUrl}/api/openapi.json`);
  serve.process.kill("SIGTERM");
  await serve.finished;
  // A thread that has started loads its file before it ends.
  expect(namesOf(loaded()).filter(isLater)).toEqual([expect.stringContaining("console-api")]);
});

test("the published command loads each provider's client at its first request", async () => {
  await using provider = createServer((_request, response) => response.writeHead(404).end());
  await once(provider.listen(0, "127.0.0.1"), "listening");
  const address = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const accounts = ["ANTHROPIC", "OPENAI", "GEMINI"].flatMap((name) => [
    [`${name}_API_KEY`, "key"],
    [`${name}_BASE_URL`, address],
  ]);
  const dataDir = ["--data-dir", "providers"];
  const { agentId = "", apiKey = "" } = await admin("agents", "create", "Desk", ...dataDir);
  const { runtimeKey = "" } = await admin("runtime-keys", "create", "--agent", agentId, ...dataDir);
  await using serve = startCommand(
    ["serve", "--port", "0", "--json", ...dataDir],
    options(Object.fromEntries(accounts) as Record<string, string>),
  );
  const { baseUrl = "" } = await readyLine(serve);
  const target = ["--url", baseUrl, "--agent", agentId, "--key"];
  await using connect = startCommand(["connect", service, "--json", ...target, runtimeKey], options());
  await readyLine(connect);

  for (const name of ["anthropic", "openai", "gemini"]) {
    const response = await fetch(`${baseUrl}/agents/${agentId}/query`, {
      method: "POST",
      headers: { "x-api-key": apiKey, "content-type": "application/json" },
      body: JSON.stringify({ query: "Greet Ann", role: "staff", llmConfig: { provider: name, model: "some" } }),
    });
    expect(await response.json()).toMatchObject({
      errorMessage: `Provider ${name} failed: it does not offer this model to the configured account (some)`,
    });
  }
});

test("the published command runs functions for development in a separate process", async () => {
  await using dev = startCommand(["dev", service, "--port", "0", "--data-dir", "dev", "--json"], options());
  const { baseUrl = "", agentId = "", apiKey = "" } = await readyLine(dev);

  const ask = ["query", 'Greet "Ann"', "--role", "staff", "--url", baseUrl, "--agent", agentId, "--key", apiKey];
  const answered = await runCommand(ask, options());

  expect(answered.code, answered.stderr).toBe(0);
  expect(answered.stdout).toContain("Hello, Ann!");
});

test("the published command diagnoses an installation, and tests the access of a role", async () => {
  const examined = await runCommand(["doctor", service, "--port", "0", "--data-dir", "doctor"], options());
  expect(examined.stdout).toContain("ok    functions");

  const attacked = await runCommand(["access", service, "--attack"], options());
  expect(attacked.code, attacked.stderr).toBe(0);
  expect(attacked.stdout).toContain("nothing found");
});

test("the code for Postgres is loaded if a Postgres URL is given", async () => {
  const database = ["--database", "postgres://patchbay@127.0.0.1:1/patchbay"];
  const { code, stderr } = await runCommand(["serve", "--port", "0", ...database], options());
  expect(code).toBe(1);
  expect(stderr).toContain("no database server answers at 127.0.0.1:1");
});
