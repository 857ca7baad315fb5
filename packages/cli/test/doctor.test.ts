import { chmod, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { checkNats, checkNode, type Finding } from "../src/doctor/local-checks.ts";
import { checkReachable, streamFinding } from "../src/doctor/remote-checks.ts";
import { withoutPassword } from "../src/database.ts";

import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";
import { json, startFakeService } from "../../client/test/support/fake-service.ts";
import { serviceSource } from "./support/service-source.ts";

async function doctor(args: string[], options?: Parameters<typeof runCommand>[1]) {
  const { code, stdout } = await runCommand(["doctor", "--port", "0", "--json", ...args], options);
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Finding[] };
  return { code, ok, of: (name: string) => checks.find((check) => check.name === name) };
}

test("an installation without faults is ok and exits 0", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "service.ts"), serviceSource());
  const found = await doctor([], { cwd: folder.path, env: { ANTHROPIC_API_KEY: "sk-ant-x" } });
  expect(found).toMatchObject({ code: 0, ok: true });
  for (const name of ["Node.js", "data folder", "database", "port", "anthropic", "functions"])
    expect(found.of(name)).toMatchObject({ status: "ok" });
});

test("doctor says which functions are not strict, and why", async () => {
  await using folder = await temporaryFolder();
  const source = serviceSource();
  await writeFile(join(folder.path, "service.ts"), source);
  expect((await doctor([], { cwd: folder.path })).of("functions")?.message).toMatch(
    /defines 1, not strict: greet \(its input allows members that it does not list\)$/,
  );

  await writeFile(
    join(folder.path, "service.ts"),
    source.replace('["name"] }', '["name"], additionalProperties: false }'),
  );
  expect((await doctor([], { cwd: folder.path })).of("functions")?.message).toMatch(/defines 1, all strict$/);
});

test("a role with more functions than the default model takes is a warning with both numbers", async () => {
  await using folder = await temporaryFolder();
  const source = serviceSource({ roles: '["support"]' })
    .replace("const one = defineFunction(", "const many = (at) => defineFunction(")
    .replace('name: "greet"', 'name: "greet_" + at')
    .replace("[one]", "Array.from({ length: 129 }, (_, at) => many(at))");
  await writeFile(join(folder.path, "service.ts"), source);

  const ofOpenai = await doctor([], { cwd: folder.path, env: { OPENAI_API_KEY: "sk-x" } });
  const ofClaude = await doctor([], { cwd: folder.path, env: { ANTHROPIC_API_KEY: "sk-ant-x" } });

  const message = expect.stringMatching(/role support has 129 functions; gpt-6\.1-terra takes 128/);
  expect(ofOpenai.of("functions")).toMatchObject({ status: "warn", message });
  expect(ofClaude.of("functions")).toMatchObject({ status: "ok" });
});

test("an old Node.js fails", () => {
  expect(checkNode("22.20.0")).toMatchObject({ status: "fail", fix: "Install Node.js 24.7 or newer." });
  expect(checkNode("24.6.0")).toMatchObject({ status: "fail" });
  expect(checkNode("24.7.0")).toMatchObject({ status: "ok" });
  expect(checkNode("24.10.0")).toMatchObject({ status: "ok" });
});

test("a port of another program fails", async () => {
  const other = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  const { code, stdout } = await runCommand(["doctor", "--port", String(port)]);
  other.close();
  expect(code).toBe(1);
  expect(stdout).toMatch(/^fail {2}port .*another program\n.*→ Stop it/m);
});

test("a broken database, file and variable are reported together", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "patchbay.db"), "plain text in place of the database, longer than its header");
  await writeFile(join(folder.path, "service.ts"), "export default 1;");
  const found = await doctor(["--data-dir", "."], { cwd: folder.path, env: { OPENAI_API: "telex" } });
  expect(found).toMatchObject({ code: 1, ok: false });
  for (const name of ["database", "provider", "functions"]) expect(found.of(name)).toMatchObject({ status: "fail" });
});

test("a database or credentials file that others can read is a warning with its mode", async () => {
  await using folder = await temporaryFolder();
  await runCommand(["orgs", "create", "A", "--data-dir", folder.path]);
  await writeFile(join(folder.path, "dev-credentials.json"), "{}", { mode: 0o600 });
  expect((await doctor(["--data-dir", folder.path])).of("file mode")).toBeUndefined();

  for (const [name, mode] of [
    ["dev-credentials.json", 0o640],
    ["patchbay.db", 0o604],
  ] as const) {
    const file = join(folder.path, name);
    await chmod(file, mode);
    expect((await doctor(["--data-dir", folder.path])).of("file mode")).toEqual({
      name: "file mode",
      status: "warn",
      message: `${file} is open to other users of this machine (mode 0${mode.toString(8)})`,
      fix: `chmod 600 ${file}`,
    });
    await chmod(file, 0o600);
  }
});

test("a data folder that is a file fails with a fix", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "text"), "");
  const found = await doctor(["--data-dir", join(folder.path, "text")]);
  for (const name of ["data folder", "database"])
    expect(found.of(name)).toMatchObject({
      status: "fail",
      message: expect.stringContaining("is a file, not a folder"),
    });
});

test("the address of the bus is shown without its password or token", async () => {
  const servers = ["nats://ann:s3cret@127.0.0.1:1", "nats://s3cret@127.0.0.1:2"];
  for (const nats of [...servers, servers.join(",")]) {
    const { message } = await checkNats(nats);
    expect(message).toMatch(/^nats:\/\/127\.0\.0\.1:\d.* does not answer$/);
    expect(message).not.toContain("s3cret");
  }
  expect(await checkNats("http://ann:s3cret@bus")).toMatchObject({
    status: "fail",
    message: expect.not.stringContaining("s3cret"),
  });
});

test("the address of a database is shown without its password, in each place", () => {
  expect(withoutPassword("postgres://ann:s3cret@db/shop")).toBe("postgres://ann:***@db/shop");
  expect(withoutPassword("postgres://ann@db/shop?password=s3cret")).toBe("postgres://ann@db/shop?password=***");
  expect(withoutPassword("sqlite:./shop.db")).toBe("sqlite:./shop.db");
});

test("a key that does not look like a key of its provider is a warning", async () => {
  const found = await doctor([], { env: { GEMINI_API_KEY: "sk-ant-x" } });
  expect(found.code).toBe(0);
  expect(found.of("gemini")).toMatchObject({ status: "warn" });
});

test("a running service is checked from outside", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "service.ts"), serviceSource());
  await using dev = startCommand(["dev", "--port", "0", "--json"], { cwd: folder.path });
  const ready = JSON.parse(await dev.seen(/^\{"ready".*\}$/m)) as {
    baseUrl: string;
    agentId: string;
    apiKey: string;
    runtimeKey: string;
  };
  const target = ["--url", ready.baseUrl, "--agent", ready.agentId];

  const good = await doctor([...target, "--key", ready.apiKey], { env: { PATCHBAY_RUNTIME_KEY: ready.runtimeKey } });
  expect(good).toMatchObject({ code: 0, ok: true });
  for (const name of ["service", "clock", "WebSocket", "runtime key", "key", "query"])
    expect(good.of(name)).toMatchObject({ status: "ok" });
  // A busy machine can delay the first event until the last one is sent, as a proxy that buffers does. Another test has exact times.
  expect(good.of("stream")).toMatchObject({ status: expect.stringMatching(/ok|warn/) as string });

  const wrong = await doctor([...target, "--key", "service_live_wrong"]);
  expect(wrong.code).toBe(1);
  expect(wrong.of("key")).toMatchObject({ status: "fail", message: "is unknown or revoked" });
});

test("a runtime key with all its connections open is a warning with the limit, an unknown one fails", async () => {
  const errorMessage = "This runtime key has reached its limit of open connections (64).";
  await using service = await startFakeService([
    json(200, {}),
    json(401, {}),
    json(429, { errorMessage }),
    json(200, {}),
    json(401, {}),
    json(401, {}),
  ]);
  const env = { PATCHBAY_RUNTIME_KEY: "patchbay_rt_x" };
  const fix = "Create another one on the server: patchbay runtime-keys create --agent agt_1";
  const target = ["--url", service.url, "--agent", "agt_1"];

  expect((await doctor(target, { env })).of("runtime key")).toMatchObject({
    status: "warn",
    message: errorMessage,
    fix,
  });
  expect((await doctor(target, { env })).of("runtime key")).toMatchObject({ status: "fail" });
});

test("a different clock is a warning, a dropped upgrade fails", async () => {
  const late = (status: number) => (response: ServerResponse) =>
    json(status, {}, { Date: new Date(Date.now() - 60_000).toUTCString() })(response);
  await using service = await startFakeService([late(200), late(404)]);
  const found = await doctor(["--url", service.url]);
  expect(found.of("clock")).toMatchObject({ status: "warn" });
  expect(found.of("WebSocket")).toMatchObject({ status: "fail", fix: expect.stringContaining("Upgrade") });
});

test.each([
  { differenceMs: 0, status: "ok", message: "agrees with the service's" },
  { differenceMs: 5_000, status: "ok", message: "agrees with the service's" },
  { differenceMs: -5_000, status: "ok", message: "agrees with the service's" },
  { differenceMs: 6_000, status: "warn", message: "differs from the service's by 6 s" },
  { differenceMs: -6_000, status: "warn", message: "differs from the service's by 6 s" },
  { differenceMs: -60_000, status: "warn", message: "differs from the service's by 60 s" },
])("a clock that differs by $differenceMs ms is $status", async ({ differenceMs, ...finding }) => {
  const now = Date.UTC(2026, 2, 1);
  using _ = vi.spyOn(Date, "now").mockReturnValue(now);
  const date = new Date(now + differenceMs).toUTCString();
  await using service = await startFakeService([json(200, {}, { Date: date })]);

  const findings = await checkReachable(service.url);

  expect(findings).toMatchObject([
    { name: "service", status: "ok", message: `${service.url} answers in 0 ms` },
    { name: "clock", ...finding },
  ]);
});

test.each([
  { openedMs: 10, tookMs: 2_000, status: "ok" },
  { openedMs: 500, tookMs: 500, status: "ok" },
  { openedMs: 1_980, tookMs: 2_000, status: "ok" },
  { openedMs: 1_981, tookMs: 2_000, status: "warn" },
  { openedMs: 501, tookMs: 501, status: "warn" },
])("a stream that opens after $openedMs ms and ends after $tookMs ms is $status", ({ status, ...times }) => {
  expect(streamFinding(times)).toMatchObject({ name: "stream", status });
});
