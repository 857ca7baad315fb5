import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { freePort } from "../src/free-port.ts";

const MODULE = new URL("../src/free-port.ts", import.meta.url).href;

/** Another process that chooses ports and holds them until it is disposed. */
async function portsOfAnother(count: number): Promise<{ ports: number[] } & AsyncDisposable> {
  const script = `const { freePort } = await import("${MODULE}");
    const ports = []; for (let i = 0; i < ${count}; i++) ports.push(await freePort());
    console.log(JSON.stringify(ports)); process.stdin.resume().on("end", () => process.exit());`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const exited = once(child, "exit");
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return {
    ports: JSON.parse(line) as number[],
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
    },
  };
}

test("two processes that choose ports at the same time get different ones, also before they listen", async () => {
  const [one, two] = await Promise.all([portsOfAnother(400), portsOfAnother(400)]);
  await using _one = one;
  await using _two = two;

  expect(new Set([...one.ports, ...two.ports]).size).toBe(800);
});

test("a port stays with its caller while the server on it restarts", async () => {
  const port = await freePort();
  for (let start = 0; start < 2; start++) {
    const server = createServer().listen(port, "127.0.0.1");
    await once(server, "listening");
    server.close();
    await once(server, "close");
  }
});
