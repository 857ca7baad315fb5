import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCommand, temporaryFolder } from "./support/command.ts";
import { serviceSource } from "./support/service-source.ts";

async function startDev(cwd: string, ...args: string[]) {
  await writeFile(join(cwd, "service.ts"), serviceSource());
  const running = startCommand(["dev", "--port", "0", "--json", "--no-watch", ...args], { cwd });
  const ready = JSON.parse(await running.seen(/^\{"ready".*\}$/m)) as { baseUrl: string; accessToken: string };
  return { ...running, ready };
}

test("dev excludes a new data folder from Git and does not change an existing one", async () => {
  await using folder = await temporaryFolder();
  await using _made = await startDev(folder.path);
  expect(await readFile(join(folder.path, ".patchbay", ".gitignore"), "utf8")).toBe("*\n");

  await using _there = await startDev(folder.path, "--data-dir", ".");
  await expect(readFile(join(folder.path, ".gitignore"))).rejects.toThrow("ENOENT");
});

test("dev --cors-origin allows only pages of that origin, on every endpoint", async () => {
  await using folder = await temporaryFolder();
  await using dev = await startDev(folder.path, "--cors-origin", "http://localhost:3000");
  const ask = (origin: string) =>
    fetch(`${dev.ready.baseUrl}/agent/query-stream`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Authorization: `Bearer ${dev.ready.accessToken}`,
        Origin: origin,
      },
      body: JSON.stringify({ query: "Hello" }),
    });

  const [allowed, refused] = [await ask("http://localhost:3000"), await ask("http://localhost:3001")];

  expect(allowed.status).toBe(200);
  expect(allowed.headers.get("Access-Control-Allow-Origin")).toBe("http://localhost:3000");
  expect(await allowed.text()).toContain('"type":');
  expect(refused.headers.get("Access-Control-Allow-Origin")).toBeNull();
  expect(refused.status).not.toBe(200);
  await refused.text();
});
