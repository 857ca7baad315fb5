import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, connect as connectTcp } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { startConnectProxy } from "@patchbay/test-support/connect-proxy";
import { callFrame, type FakeControlPlane, startFakeControlPlane } from "@patchbay/test-support/fake-control-plane";
import { until } from "@patchbay/test-support/inbox";
import { runCommand, type Running, startCommand, temporaryFolder } from "./support/command.ts";
import { serviceSource } from "./support/service-source.ts";

let folder: string;
let plane: FakeControlPlane;

beforeEach(async () => {
  const [made, started] = [await temporaryFolder(), await startFakeControlPlane()];
  onTestFinished(async () => {
    await started[Symbol.asyncDispose]();
    await made[Symbol.asyncDispose]();
  });
  [folder, plane] = [made.path, started];
  await writeFile(join(folder, "service.ts"), serviceSource());
});

/** Starts `patchbay connect`; killed when the test ends. */
function connect(args: string[] = [], env: Record<string, string> = {}): Running {
  const target = { PATCHBAY_URL: plane.url, PATCHBAY_AGENT: "agent-a", PATCHBAY_RUNTIME_KEY: "key-of-a" };
  const running = startCommand(["connect", "service.ts", ...args], { cwd: folder, env: { ...target, ...env } });
  onTestFinished(() => running[Symbol.asyncDispose]());
  return running;
}

async function proxyTo(port: number, options: { tls?: { key: string; cert: string }; credentials?: string } = {}) {
  const proxy = await startConnectProxy({ to: port, ...options });
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return proxy;
}

test("a refused key ends the command with exit code 1 and what to do", async () => {
  plane.refuseWith = 401;
  plane.refuseMore = { body: JSON.stringify({ errorMessage: "Authentication failed" }) };

  const { code, stderr } = await connect().finished;

  expect(code).toBe(1);
  expect(stderr.trimEnd().split("\n").at(-1)).toMatch(
    /^error: The control plane refused the runtime key: .*runtime-keys create.* Its reason: Authentication failed$/,
  );
});

test("the access lock next to the service is sent, and an unreadable one only logged", async () => {
  const lock = { version: 2, functions: {} };
  await writeFile(join(folder, "access.lock.json"), JSON.stringify(lock));
  connect();
  expect(await (await plane.link()).next("hello")).toMatchObject({ lock });

  await writeFile(join(folder, "access.lock.json"), "<<<<<<< HEAD");
  const running = connect(["--log-format", "json"]);
  expect(await (await plane.link()).next("hello")).not.toHaveProperty("lock");
  await running.seen("the access lock is not shown in the console: it cannot be read");
});

test("HTTPS_PROXY is honoured, unless NO_PROXY excepts the address", async () => {
  const proxy = await proxyTo(plane.port);

  connect([], { HTTPS_PROXY: proxy.url });
  await plane.welcome();
  expect(proxy.requests).toEqual([{ address: `127.0.0.1:${plane.port}` }]);

  connect([], { HTTPS_PROXY: proxy.url, NO_PROXY: "example.com,127.0.0.0/8" });
  await plane.welcome();
  expect(proxy.requests).toHaveLength(1);
});

test("--proxy comes before the variables, and `none` connects directly", async () => {
  const proxy = await proxyTo(plane.port);

  connect(["--proxy", "none"], { HTTPS_PROXY: proxy.url });
  await plane.welcome();
  expect(proxy.requests).toHaveLength(0);

  connect(["--proxy", proxy.url], { NO_PROXY: "*" });
  await plane.welcome();
  expect(proxy.requests).toHaveLength(1);
});

test("the address of a proxy, with its password, can be in a file", async () => {
  const proxy = await proxyTo(plane.port, { credentials: "ann:s3cret" });
  const file = join(folder, "proxy");
  await writeFile(file, `${proxy.url.replace("://", "://ann:s3cret@")}\n`);

  connect([], { PATCHBAY_PROXY_FILE: file });

  await plane.welcome();
  expect(proxy.requests).toEqual([{ address: `127.0.0.1:${plane.port}`, credentials: "ann:s3cret" }]);
});

test("--proxy that is not the address of a proxy ends the command with exit code 1", async () => {
  const { code, stderr } = await connect(["--proxy", "socks5://127.0.0.1:1080"]).finished;

  expect(code).toBe(1);
  expect(stderr).toContain('proxy is "socks5://127.0.0.1:1080", which is not the address of an HTTP or HTTPS proxy');
});

const hasOpenssl = spawnSync("openssl", ["version"]).error === undefined;
if (!hasOpenssl)
  console.warn("SKIPPED: no openssl found to make a certificate with, so connections with TLS are not tested.");

test.runIf(hasOpenssl)("a control plane with TLS is reached through a proxy with TLS", async () => {
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:patchbay.invalid,IP:127.0.0.1"];
  const how = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", ...subject, "-keyout", key, "-out", cert];
  execFileSync("openssl", how, { stdio: "ignore" });
  const tls = { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  const edge = createTlsServer(tls, (socket) => {
    const inside = connectTcp(plane.port, "127.0.0.1");
    for (const one of [socket, inside]) one.on("error", () => one.destroy());
    socket.pipe(inside).pipe(socket);
  });
  onTestFinished(() => void edge.close());
  edge.listen(0, "127.0.0.1");
  await once(edge, "listening");
  const proxy = await proxyTo((edge.address() as AddressInfo).port, { tls });

  connect(["--url", "https://patchbay.invalid"], { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: cert });

  const { request } = await plane.welcome();
  expect(request.headers.host).toBe("patchbay.invalid");
  expect(proxy.requests).toEqual([{ address: "patchbay.invalid:443" }]);
});

test("--health-port serves /healthz, and /readyz with the state of the connection", async () => {
  plane.refuseWith = 503;
  const running = connect(["--health-port", "0", "--json"]);
  await until(() => plane.refused > 0, "an attempt to connect");
  plane.refuseWith = undefined;
  const link = await plane.welcome();
  const { healthUrl } = JSON.parse(await running.seen(/^\{"ready".*\}$/m)) as { healthUrl: string };
  const probe = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${healthUrl}${path}`, init);
    return { status: response.status, body: (await response.json()) as unknown };
  };

  expect(await probe("/healthz")).toEqual({ status: 200, body: { status: "ok" } });
  expect(await probe("/readyz")).toEqual({ status: 200, body: { state: "connected" } });
  expect(await probe("/")).toMatchObject({ status: 404 });
  expect(await probe("/readyz", { method: "POST" })).toMatchObject({ status: 405 });

  plane.refuseWith = 503;
  link.socket.terminate();
  let unready = await probe("/readyz");
  while (unready.status === 200) unready = await probe("/readyz");
  expect(unready).toEqual({ status: 503, body: { state: "connecting" } });
  expect(await probe("/healthz")).toMatchObject({ status: 200 });
});

test("a health port in use ends the command with exit code 1", async () => {
  const { code, stderr } = await connect(["--health-port", String(plane.port)]).finished;

  expect(code).toBe(1);
  expect(stderr).toContain(`cannot listen on 127.0.0.1:${plane.port}: the port is in use`);
});

test("one .env holds the keys of connect and of query", async () => {
  await writeFile(join(folder, ".env"), "PATCHBAY_RUNTIME_KEY=runtime-key\nPATCHBAY_API_KEY=api-key\n");
  await using running = startCommand(["connect", "service.ts", "--url", plane.url, "--agent", "a"], { cwd: folder });

  const { request } = await plane.welcome();

  expect(request.headers.authorization).toBe("Bearer runtime-key");
  expect(running.process.exitCode).toBeNull();
  const { stderr } = await runCommand(["query", "x", "--agent", "a"], { cwd: folder });
  expect(stderr).toContain("Missing --url, and");
});

test("PATCHBAY_KEY still works, with a warning that names its successor", async () => {
  const running = connect([], { PATCHBAY_RUNTIME_KEY: "", PATCHBAY_KEY: "old-key" });
  const { request } = await plane.welcome();
  expect(request.headers.authorization).toBe("Bearer old-key");
  await running.seen("PATCHBAY_KEY is deprecated. Set PATCHBAY_RUNTIME_KEY instead.");

  const { stderr } = await runCommand(["query", "x", "--agent", "a"], { env: { PATCHBAY_KEY: "old-key" } });
  expect(stderr).toContain("PATCHBAY_KEY is deprecated. Set PATCHBAY_API_KEY instead.");
  expect(stderr).toContain("Missing --url, and");
});

test("connect without a key is wrong usage", async () => {
  const { code, stderr } = await connect([], { PATCHBAY_RUNTIME_KEY: "" }).finished;

  expect(code).toBe(2);
  expect(stderr).toContain("'--key <key>' not specified");
});

test.each([
  ["JSON", [], /^\{"time":.*"level":"debug","message":"call ended","runId":"run","callId":"c1",.*\}$/m],
  [
    "pretty",
    ["--log-format", "pretty"],
    /^\d\d:\d\d:\d\d debug +call ended +runId=run callId=c1 functionName=greet .*$/m,
  ],
] as const)("PATCHBAY_LOG=debug logs each call as %s, without its arguments and its result", async (_, args, line) => {
  const running = connect([...args], { PATCHBAY_LOG: "debug" });
  const connection = await plane.welcome();

  connection.send(callFrame("c1", { function: "greet", arguments: { name: "c4n4ry" }, role: "clerk" }));

  expect(await connection.next("result")).toMatchObject({ outcome: { ok: true, value: "Hello, c4n4ry!" } });
  expect(await running.seen(line)).toContain("clerk");
  running.process.kill("SIGKILL");
  expect((await running.finished).stderr).not.toContain("c4n4ry");
});

const STRAY = `({ name }) => {
  if (name === "slow") return new Promise((resolve) => setTimeout(() => resolve("done"), 500));
  if (name === "callback") setTimeout(() => { throw new Error("stray"); }, 50);
  else void Promise.reject(new Error("stray"));
  return "left";
}`;

test.each(["promise", "callback"])(
  "an error in a %s that a handler left behind is logged with its function, and other calls end before the process",
  async (name) => {
    await writeFile(join(folder, "service.ts"), serviceSource({ handler: STRAY }));
    const running = connect();
    const connection = await plane.welcome();

    connection.send(callFrame("c1", { function: "greet", arguments: { name: "slow" } }));
    connection.send(callFrame("c2", { function: "greet", arguments: { name } }));

    const outcomes = [await connection.next("result"), await connection.next("result")];
    expect(outcomes.map(({ callId, outcome }) => [callId, outcome.ok])).toEqual([
      ["c2", true],
      ["c1", true],
    ]);
    const { code, stderr } = await running.finished;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /"level":"error","message":"an error that a function left behind .*"functionName":"greet".*"callId":"c2".*stray/,
    );
  },
);

test("by default, calls that succeed are not logged", async () => {
  const running = connect();
  const connection = await plane.welcome();

  connection.send(callFrame("c1", { function: "greet", arguments: { name: "Ann" } }));
  await connection.next("result");
  running.process.kill("SIGKILL");

  expect((await running.finished).stderr).not.toContain("call ended");
});

test("what a service file logs while it is loaded has the form and the level of the command's log", async () => {
  const shared = ["one.two", "one_two"].map(
    (name) => `
defineFunction({ name: "${name}", description: "Greets.", input: { type: "object" }, roles: everyone, handler: () => 1 })`,
  );
  const source = serviceSource().replace("functions: [one]", `functions: [one, ${shared.join()}]`);
  await writeFile(join(folder, "service.ts"), source);

  const running = connect(["--log-format", "pretty"]);
  await plane.welcome();
  const quiet = connect([], { PATCHBAY_LOG: "error" });
  await plane.welcome();

  expect(await running.seen(/^.*functions have the same name.*$/m)).toMatch(/^\d\d:\d\d:\d\d warn /);
  quiet.process.kill("SIGKILL");
  expect((await quiet.finished).stderr).toBe("");
});
