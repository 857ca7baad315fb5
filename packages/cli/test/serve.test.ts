import { writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";
import { serviceSource } from "./support/service-source.ts";

const offline = { PATCHBAY_PROVIDER: "offline" };

async function startServe(folder: string, ...args: string[]) {
  const running = startCommand(["serve", "--port", "0", "--data-dir", folder, "--json", ...args], { env: offline });
  const ready = JSON.parse(await running.seen(/^\{"ready".*\}$/m)) as {
    baseUrl: string;
    metricsUrl?: string;
    setupUrl?: string;
  };
  return { ...running, ready };
}

test("serve, connect and query work together as three processes", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "service.ts"), serviceSource());
  await using serve = await startServe(folder.path);
  const admin = async (...args: string[]) =>
    JSON.parse((await runCommand([...args, "--data-dir", folder.path, "--json"])).stdout) as Record<string, string>;
  const { agentId = "", apiKey = "" } = await admin("agents", "create", "Desk");
  const { runtimeKey = "" } = await admin("runtime-keys", "create", "--agent", agentId);
  const target = { PATCHBAY_URL: serve.ready.baseUrl, PATCHBAY_AGENT: agentId };

  const early = await runCommand(["query", 'Greet "Ann"'], { env: { ...target, PATCHBAY_API_KEY: apiKey } });
  expect(early.code).toBe(1);
  expect(early.stderr).toContain(
    `Start them with \`PATCHBAY_RUNTIME_KEY=... patchbay connect service.ts --url ${serve.ready.baseUrl} --agent ${agentId}\``,
  );

  const runtimeEnv = { ...target, PATCHBAY_RUNTIME_KEY: runtimeKey };
  await using runtime = startCommand(["connect", "service.ts", "--json"], { cwd: folder.path, env: runtimeEnv });
  await runtime.seen('"ready":true');
  const answered = await runCommand(["query", 'Greet "Ann"', "--stream", "--json"], {
    env: { ...target, PATCHBAY_API_KEY: apiKey },
  });
  expect(answered.code).toBe(0);
  expect(JSON.parse(answered.stdout)).toMatchObject({
    success: true,
    toolInteractions: [{ toolName: "greet", parameters: { name: "Ann" }, success: true, result: "Hello, Ann!" }],
  });
  expect(answered.stderr).toContain('→ greet {"name":"Ann"}');

  const { items } = JSON.parse(
    (await runCommand(["runs", "list", "--agent", agentId, "--data-dir", folder.path, "--json"])).stdout,
  );
  expect(items).toHaveLength(2);
  const ofRequest = await runCommand(["runs", "list", "--request", items[0].requestId, "--data-dir", folder.path]);
  expect(ofRequest.stdout).toContain(items[0].runId);
  expect(ofRequest.stdout).not.toContain(items[1].runId);
  expect(ofRequest.stdout).toMatch(/\d+ ms\s+\$\d\.\d{4}/);
  const shown = await runCommand(["runs", "show", items[0].runId, "--data-dir", folder.path]);
  expect(shown.stdout).toContain('{"type":"finalResponse"');

  runtime.process.kill("SIGTERM");
  expect((await runtime.finished).code).toBe(0);
  serve.process.kill("SIGTERM");
  expect((await serve.finished).code).toBe(0);
});

test("serve --log-format pretty writes a line for people about each query", async () => {
  await using folder = await temporaryFolder();
  await using serve = await startServe(folder.path, "--log-format", "pretty");

  await fetch(`${serve.ready.baseUrl}/agents/agt_1/query`, { method: "POST", headers: { "x-request-id": "abc" } });

  const line = await serve.seen(/^.*requestId=abc.*$/m);
  expect(line).toMatch(/^\d\d:\d\d:\d\d info +request +requestId=abc method=POST .*code=authentication_failed/);
});

test("serve --json prints one line on stdout, and its log goes to stderr", async () => {
  await using folder = await temporaryFolder();
  await using serve = await startServe(folder.path);
  serve.process.kill("SIGINT");
  const { code, stdout, stderr } = await serve.finished;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ ready: true, ...serve.ready });
  for (const line of stderr.trim().split("\n").filter(Boolean)) expect(() => JSON.parse(line)).not.toThrow();
});

const post = (url: string, body: object) =>
  fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Origin: new URL(url).origin },
    body: JSON.stringify(body),
  });

test("serve prints a set-up link until the first owner has joined; only the newest link works", async () => {
  await using folder = await temporaryFolder();
  const secretOf = ({ setupUrl = "" }: { setupUrl?: string }) => new URL(setupUrl).hash.slice(1);
  const stop = async ({ process, finished }: Awaited<ReturnType<typeof startServe>>) => {
    process.kill("SIGTERM");
    await finished;
  };
  const first = await startServe(folder.path);
  await stop(first);
  const second = await startServe(folder.path);
  const { baseUrl } = second.ready;

  expect((await post(`${baseUrl}/api/links`, { link: secretOf(first.ready) })).status).toBe(404);
  const owner = { name: "Ann", email: "ann@example.com", password: "correct horse battery", organisation: "Acme" };
  const accepted = await post(`${baseUrl}/api/links/accept`, { link: secretOf(second.ready), ...owner });
  expect(await accepted.json()).toMatchObject({ member: { role: "owner" }, organisation: { name: "Acme" } });
  await stop(second);
  await using third = await startServe(folder.path);

  expect(third.ready).not.toHaveProperty("setupUrl");
  const { email, password } = owner;
  expect((await post(`${third.ready.baseUrl}/api/session`, { email, password })).status).toBe(200);
});

test("serve --no-console serves only the API", async () => {
  await using folder = await temporaryFolder();
  await using serve = await startServe(folder.path, "--no-console");

  const statuses = ["/console", "/api/session", "/healthz"].map(
    async (path) => (await fetch(serve.ready.baseUrl + path, { redirect: "manual" })).status,
  );

  expect(await Promise.all(statuses)).toEqual([404, 404, 200]);
  expect(serve.ready).not.toHaveProperty("setupUrl");
});

test("serve without TLS warns once on a public address, unless it trusts a proxy", async () => {
  await using folder = await temporaryFolder();
  const warnings = async (...args: string[]) => {
    await using serve = await startServe(folder.path, ...args);
    serve.process.kill("SIGTERM");
    return (await serve.finished).stderr.match(/listening without TLS/g)?.length ?? 0;
  };

  expect(await warnings()).toBe(0);
  expect(await warnings("--host", "0.0.0.0")).toBe(1);
  expect(await warnings("--host", "0.0.0.0", "--trust-proxy")).toBe(0);
});

test("a used port exits 1 with the reason and a fix", async () => {
  await using folder = await temporaryFolder();
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;

  const { code, stderr } = await runCommand(["serve", "--port", String(port), "--data-dir", folder.path], {
    env: offline,
  });

  taken.close();
  expect(code).toBe(1);
  expect(stderr).toContain(`Port ${port} on 127.0.0.1 is taken`);
  expect(stderr).toContain("--port");
});

test("a second server on the same data is refused", async () => {
  await using folder = await temporaryFolder();
  await using _first = await startServe(folder.path);
  const second = await runCommand(["serve", "--port", "0", "--data-dir", folder.path], { env: offline });
  expect(second.code).toBe(1);
  expect(second.stderr).toContain("--data-dir");
});

test("connect refuses a deployment of over 100 characters", async () => {
  const { code, stderr } = await runCommand(["connect", "x.ts", "--deployment", "x".repeat(101)]);
  expect(code).toBe(2);
  expect(stderr).toContain("1 to 100 characters, got 101");
});

test("connect refuses a file whose default export is not a service", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "wrong.ts"), "export default { functions: [] };");
  const { code, stderr } = await runCommand(
    ["connect", "wrong.ts", "--url", "http://127.0.0.1:9", "--agent", "a", "--key", "k"],
    {
      cwd: folder.path,
    },
  );
  expect(code).toBe(1);
  expect(stderr).toContain("export default defineService");
});

test("serve --metrics-port and --metrics-token separate and protect the metrics", async () => {
  await using folder = await temporaryFolder();
  await using serve = await startServe(folder.path, "--metrics-port", "0", "--metrics-token", "t0ken");
  const { baseUrl, metricsUrl = "" } = serve.ready;

  const headers = { authorization: "Bearer t0ken" };
  expect((await fetch(metricsUrl, { headers })).status).toBe(200);
  expect((await fetch(metricsUrl)).status).toBe(401);
  expect((await fetch(`${baseUrl}/metrics`, { headers })).status).toBe(404);
  const refused = await runCommand(["serve", "--port", "0", "--data-dir", folder.path, "--metrics-token", "a b"]);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("without spaces") });
});
