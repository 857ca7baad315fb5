import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { callFrame, startFakeControlPlane } from "@patchbay/test-support/fake-control-plane";
import { dialGateway, helloFrom } from "@patchbay/test-support/fake-runtime";
import { until } from "@patchbay/test-support/inbox";
import { expect, test } from "vitest";
import { launchRuntime } from "../src/runtime-child.ts";
import { startCommand, temporaryFolder } from "./support/command.ts";
import { serviceSource } from "./support/service-source.ts";

const READY = /^\{"ready".*\}$/m;
const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** The debugger's targets on a port. */
async function targetsAt(port: number): Promise<{ id: string; url: string }[]> {
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`).catch(() => undefined);
  return answer ? ((await answer.json()) as { id: string; url: string }[]) : [];
}

async function targetAt(port: number, wanted: (id: string) => boolean = () => true) {
  let found: { id: string; url: string } | undefined;
  await until(async () => (found = (await targetsAt(port)).find(({ id }) => wanted(id))) !== undefined, "a debugger");
  return found!;
}

test("dev --inspect opens a debugger in the process with the handlers, and again after a reload", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "service.ts");
  await writeFile(file, serviceSource());
  const port = await freePort();
  await using dev = startCommand(["dev", "--port", "0", "--json", `--inspect=${port}`], { cwd: folder.path });
  await dev.seen(READY);

  const first = await targetAt(port);
  expect(first.url).toContain("runtime-process");
  await writeFile(file, `${serviceSource()}// changed\n`);

  expect((await targetAt(port, (id) => id !== first.id)).url).toContain("runtime-process");
});

test("dev --inspect keeps the connection of functions that wait at a breakpoint", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "service.ts"), serviceSource());
  await using dev = startCommand(["dev", "--port", "0", "--json", `--inspect=${await freePort()}`], {
    cwd: folder.path,
  });
  const { baseUrl, runtimeKey } = JSON.parse(await dev.seen(READY)) as Record<"baseUrl" | "runtimeKey", string>;

  const runtime = dialGateway(Number(new URL(baseUrl).port), { Authorization: `Bearer ${runtimeKey}` });
  runtime.socket.once("open", () => runtime.send(helloFrom("other")));

  expect((await runtime.next("welcome")).heartbeatMs).toBe(3_600_000);
  runtime.socket.terminate();
});

test("dev ends when the process that started it has ended", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "service.ts"), serviceSource());
  const command = `"${process.execPath}" "${main}" dev --port 0 --json & echo "pid $!"; wait`;
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"] };
  const parent = spawn("sh", ["-c", command], { cwd: folder.path, env, stdio: ["ignore", "pipe", "ignore"] });
  let output = "";
  parent.stdout.setEncoding("utf8").on("data", (text: string) => void (output += text));
  await until(() => READY.test(output), "dev serves");
  const pid = Number(/pid (\d+)/.exec(output)![1]);

  parent.kill("SIGKILL");

  await until(() => !isRunning(pid), "dev ended");
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("a changed access lock is reported by the same process, which keeps its memory", async () => {
  await using folder = await temporaryFolder();
  await using plane = await startFakeControlPlane();
  const file = join(folder.path, "service.ts");
  const lock = join(folder.path, "access.lock.json");
  const handler = "({ name }) => `load ${globalThis.loads}, ${name}`";
  await writeFile(file, serviceSource({ before: "globalThis.loads = (globalThis.loads ?? 0) + 1;", handler }));
  await writeFile(lock, '{ "version": 1 }');
  const locks: string[] = [];
  const child = launchRuntime(file, { onFile: () => {}, onLock: (path) => void locks.push(path), otel: false });
  try {
    const connected = child.connect({ url: plane.url, agentId: "agent-a", key: "key-of-a" });
    const hello = async () => {
      const link = await plane.link();
      const { lock: reported } = await link.next("hello");
      link.send({ type: "welcome", connectionId: "connection", agentId: "agent-a", heartbeatMs: 10_000 });
      return { link, reported };
    };
    expect((await hello()).reported).toEqual({ version: 1 });
    await connected;
    await writeFile(lock, '{ "version": 2 }');

    child.relock();
    const { link, reported } = await hello();

    expect(reported).toEqual({ version: 2 });
    const call = (callId: string) => {
      link.send(callFrame(callId, { function: "greet", arguments: { name: "Ann" } }));
      return link.next("result");
    };
    expect((await call("c1")).outcome).toMatchObject({ value: "load 1, Ann" });
    expect(locks).toEqual([lock]);
  } finally {
    child.kill();
    await child.ended;
  }
});
