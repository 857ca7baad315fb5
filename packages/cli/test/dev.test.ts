import { spawnSync } from "node:child_process";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";
import { serviceSource } from "./support/service-source.ts";

interface Ready {
  baseUrl: string;
  localUrl: string;
  consoleUrl: string;
  agentId: string;
  apiKey: string;
  runtimeKey: string;
  accessToken: string;
  provider: string;
}

async function folderWith(source: string) {
  const folder = await temporaryFolder();
  const file = join(folder.path, "service.ts");
  await writeFile(file, source);
  return {
    path: folder.path,
    dataDir: join(folder.path, ".patchbay"),
    // Written to another file and renamed, as editors do.
    async save(text: string) {
      await writeFile(`${file}.new`, text);
      await rename(`${file}.new`, file);
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

async function startDev(cwd: string, ...args: string[]) {
  const running = startCommand(["dev", "--port", "0", "--json", ...args], { cwd });
  const ready = JSON.parse(await running.seen(/^\{"ready".*\}$/m)) as Ready;
  const query = async (text: string, more: object = {}) => {
    const response = await fetch(`${ready.baseUrl}/agents/${ready.agentId}/query`, {
      method: "POST",
      headers: { "X-API-Key": ready.apiKey, "Content-Type": "application/json" },
      body: JSON.stringify({ query: text, ...more }),
    });
    return (await response.json()) as {
      success: boolean;
      threadId: string;
      toolInteractions: { toolName: string; result: unknown }[];
    };
  };
  return { ...running, ready, query };
}

test("dev --json prints one line with the credentials when it can answer queries", async () => {
  await using folder = await folderWith(serviceSource());
  await using dev = await startDev(folder.path);

  expect(dev.ready).toEqual({
    ready: true,
    baseUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    localUrl: dev.ready.baseUrl,
    consoleUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/console\/link#[0-9A-Za-z]{43}$/),
    agentId: expect.any(String),
    apiKey: expect.stringMatching(/^service_live_/),
    runtimeKey: expect.any(String),
    accessToken: expect.any(String),
    provider: "offline",
  });
  expect(await dev.query('Greet "Ann"')).toMatchObject({
    success: true,
    toolInteractions: [{ toolName: "greet", result: "Hello, Ann!" }],
  });
  const local = await fetch(`${dev.ready.localUrl}/agent/query-stream`, {
    method: "POST",
    headers: { Authorization: `Bearer ${dev.ready.accessToken}`, "Content-Type": "application/json" },
    body: JSON.stringify({ query: 'Greet "Ann"' }),
  });
  expect(await local.text()).toContain('"type":"final_response"');
});

test("the console's link signs in the owner of the development organisation, once", async () => {
  await using folder = await folderWith(serviceSource());
  await using dev = await startDev(folder.path);
  const { baseUrl, consoleUrl } = dev.ready;
  const open = () =>
    fetch(`${baseUrl}/api/links/open`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: baseUrl },
      body: JSON.stringify({ link: new URL(consoleUrl).hash.slice(1) }),
    });

  const opened = await open();

  expect(await opened.json()).toMatchObject({ member: { role: "owner" }, organisation: { name: "Development" } });
  expect((await open()).status).toBe(404);
  const cookie = opened.headers.get("Set-Cookie")?.split(";")[0] ?? "";
  expect((await fetch(`${baseUrl}/api/session`, { headers: { Cookie: cookie } })).status).toBe(200);
});

test("the live log shows queries and calls without their text", async () => {
  await using folder = await folderWith(serviceSource());
  await using dev = await startDev(folder.path);
  await dev.query('Greet "Ann"', { role: "clerk" });
  await dev.seen(/done .* tokens/);
  dev.process.kill("SIGTERM");
  const { stderr } = await dev.finished;
  expect(stderr).toMatch(/query .* as clerk/);
  expect(stderr).toMatch(/call .* as clerk {2}greet {2}ok {2}\d+ ms/);
  expect(stderr).not.toContain("Ann");
});

test("the error of a function is logged with its stack on lines of its own", async () => {
  const handler = "() => { throw new Error('no stock\\n09:00:00  done    run_fake'); }";
  await using folder = await folderWith(serviceSource({ handler }));
  await using dev = await startDev(folder.path);

  await dev.query('Greet "Ann"');

  await dev.seen(/^ {4}Error: no stock\n {4}09:00:00 {2}done {4}run_fake\n {8}at .*service\.ts:\d+:\d+/m);
});

test("the agent has the name of its service, also after the service was renamed", async () => {
  await using folder = await folderWith(serviceSource());
  const agents = async () => {
    const { stdout } = await runCommand(["agents", "list", "--json", "--data-dir", folder.dataDir]);
    return (JSON.parse(stdout) as { items: { agentId: string; name: string }[] }).items;
  };
  const first = await startDev(folder.path);
  expect(await agents()).toMatchObject([{ agentId: first.ready.agentId, name: "greeter" }]);
  first.process.kill("SIGTERM");
  await first.finished;
  await folder.save(serviceSource().replace('name: "greeter"', 'name: "welcome desk"'));

  await using second = await startDev(folder.path);
  expect(second.ready.agentId).toBe(first.ready.agentId);
  expect(await agents()).toMatchObject([{ agentId: first.ready.agentId, name: "welcome desk" }]);
});

test("credentials are created once, readable only by the owner, and created again when the database is gone", async () => {
  await using folder = await folderWith(serviceSource());
  const startOnce = async () => {
    await using dev = await startDev(folder.path);
    dev.process.kill("SIGTERM");
    expect((await dev.finished).code).toBe(0);
    return { ...dev.ready, baseUrl: "", localUrl: "", consoleUrl: "" };
  };
  const first = await startOnce();
  expect(await startOnce()).toEqual(first);

  const file = join(folder.dataDir, "dev-credentials.json");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ agentId: first.agentId, apiKey: first.apiKey });

  await rm(join(folder.dataDir, "patchbay.db"));
  const fresh = await startOnce();
  expect(fresh.agentId).not.toBe(first.agentId);
  expect(fresh.apiKey).not.toBe(first.apiKey);
});

test("a revoked token is replaced at the next start, the rest is kept", async () => {
  await using folder = await folderWith(serviceSource());
  const first = await startDev(folder.path);
  const { tokenId } = JSON.parse(await readFile(join(folder.dataDir, "dev-credentials.json"), "utf8")) as {
    tokenId: string;
  };
  await runCommand(["tokens", "revoke", tokenId, "--data-dir", folder.dataDir]);
  await first[Symbol.asyncDispose]();

  await using second = await startDev(folder.path);
  expect(second.ready).toMatchObject({ agentId: first.ready.agentId, apiKey: first.ready.apiKey });
  expect(second.ready.accessToken).not.toBe(first.ready.accessToken);
});

test("a saved change is served without a restart, and threads continue", async () => {
  await using folder = await folderWith(serviceSource());
  await using dev = await startDev(folder.path);
  const before = await dev.query('Greet "Ann"');

  await folder.save(serviceSource({ name: "welcome", handler: "({ name }) => `Welcome, ${name}!`" }));
  await dev.seen("serving 1 function");

  const after = await dev.query('Welcome "Bob"', { threadId: before.threadId });
  expect(after).toMatchObject({
    success: true,
    threadId: before.threadId,
    toolInteractions: [{ toolName: "welcome", result: "Welcome, Bob!" }],
  });
});

/** A function that reports its call and returns when the file `gate` exists. */
function gatedService(gate: string): string {
  const wait = `while (!existsSync(${JSON.stringify(gate)})) await new Promise((r) => setTimeout(r, 5));`;
  return serviceSource({
    before: 'import { existsSync } from "node:fs";',
    handler: `async ({ name }) => { process.stdout.write("called\\n"); ${wait} return "old " + name; }`,
  });
}

test("a call that runs during a reload ends with the old code", async () => {
  await using folder = await folderWith("");
  const gate = join(folder.path, "gate");
  await folder.save(gatedService(gate));
  await using dev = await startDev(folder.path);

  const running = dev.query('Greet "Ann"');
  await dev.seen("called");
  await folder.save(serviceSource({ handler: "() => 'new'" }));
  await dev.seen("serving 1 function");
  await mkdir(gate);

  expect(await running).toMatchObject({ success: true, toolInteractions: [{ result: "old Ann" }] });
  expect(await dev.query('Greet "Ann"')).toMatchObject({ toolInteractions: [{ result: "new" }] });
});

test("after SIGTERM a running query ends, then dev exits 0", async () => {
  await using folder = await folderWith("");
  const gate = join(folder.path, "gate");
  await folder.save(gatedService(gate));
  await using dev = await startDev(folder.path);

  const running = dev.query('Greet "Ann"');
  await dev.seen("called");
  dev.process.kill("SIGTERM");
  await expect
    .poll(() =>
      fetch(`${dev.ready.baseUrl}/readyz`).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .not.toBe(200);
  await mkdir(gate);

  expect(await running).toMatchObject({ success: true, toolInteractions: [{ result: "old Ann" }] });
  expect((await dev.finished).code).toBe(0);
});

test("the first SIGINT finishes queries, the second ends the process immediately", async () => {
  await using folder = await folderWith("");
  await folder.save(gatedService(join(folder.path, "never")));
  await using dev = await startDev(folder.path);

  void dev.query('Greet "Ann"').catch(() => {});
  await dev.seen("called");
  dev.process.kill("SIGINT");
  await dev.seen("Finishing 1 query, at most 18 s. Press Ctrl-C again to stop immediately.");
  dev.process.kill("SIGINT");

  expect((await dev.finished).code).toBe(1);
});

test.each([
  ["does not parse", `${serviceSource()}\nconst x: = 3;\n`, /service\.ts:\d+.*: SyntaxError/],
  [
    "breaks a rule of functions",
    serviceSource().replace("roles: everyone,", ""),
    /service\.ts:\d+:\d+: DefinitionError: .*roles/,
  ],
])("a change that %s is reported with its place, and the old functions keep serving", async (_what, source, report) => {
  await using folder = await folderWith(serviceSource());
  await using dev = await startDev(folder.path);
  await folder.save(source);
  await dev.seen("The previous functions keep serving.");
  await dev.seen(report);
  expect(await dev.query('Greet "Ann"')).toMatchObject({ success: true, toolInteractions: [{ toolName: "greet" }] });
});

test("a file that does not load at the start exits 1 with the position of its error", async () => {
  await using folder = await folderWith("\n\nthrow new Error('no database');\n");
  const { code, stdout, stderr } = await runCommand(["dev", "--port", "0", "--json"], { cwd: folder.path });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/service\.ts:3:\d+: Error: no database/);
});

test("a crashed function process is restarted", async () => {
  await using folder = await folderWith(serviceSource({ handler: "() => process.exit(7)" }));
  await using dev = await startDev(folder.path);
  void dev.query('Greet "Ann"').catch(() => {});
  await dev.seen("exited with code 7; restarting it");
  await dev.seen("serving 1 function");
});

test("the function process ends with its parent, also when the parent is killed", async () => {
  await using folder = await folderWith(serviceSource({ before: "process.stdout.write(`pid=${process.pid}\\n`);" }));
  const dev = await startDev(folder.path);
  const pid = Number((await dev.seen(/pid=\d+/)).slice(4));
  dev.process.kill("SIGKILL");
  await expect.poll(() => isRunning(pid)).toBe(false);
});

/** A zombie (state Z) has ended; its parent has not read the exit code yet. */
function isRunning(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return /^[^Z\s]/.test(stdout.trim());
}
