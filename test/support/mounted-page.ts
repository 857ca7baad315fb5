import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as openSocket } from "node:net";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { connect } from "@patchbay/functions";
import { silentLog } from "@patchbay/kit";
import { freePort } from "@patchbay/test-support/free-port";
import { parseSse } from "@patchbay/test-support/sse";
import { service } from "../../examples/embedded/main.ts";

const PAGE = readFileSync(new URL("../../docs/guides/mounting.md", import.meta.url), "utf8");

/** The program below a heading of the page about mounting. */
export const sectionOf = (heading: string): string => PAGE.split(`## ${heading}\n\n\`\`\`ts\n`)[1]!.split("```")[0]!;

/** A folder for programs, which is deleted after the tests. Inside the repository, so that they find the packages. */
export function programFolder(prepare: (folder: string) => Promise<void>): string {
  const folder = join(import.meta.dirname, `../output/mounting-${process.pid}`);
  beforeAll(async () => {
    await mkdir(folder, { recursive: true });
    await prepare(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const KEYS = `
const { agentId, apiKey } = await plane.admin.createAgent("Shop");
const { runtimeKey } = await plane.admin.createRuntimeKey({ agentId });
process.once("SIGTERM", () => void plane.close().then(() => process.exit(0)));
console.log(JSON.stringify({ agentId, apiKey, runtimeKey }));
`;

interface Mounted {
  url: string;
  origin: string;
  agentId: string;
  apiKey: string;
  runtimeKey: string;
  stop(): Promise<number | null>;
}

/** Runs a section of the page on a free port, with a database in memory and the offline model. */
async function startMounted(folder: string, heading: string): Promise<Mounted> {
  const port = await freePort();
  const code = sectionOf(heading)
    .replaceAll("3000", String(port))
    .replace('"sqlite:./patchbay.db"', '"sqlite::memory:", providers: { offline: true }');
  const file = join(folder, `${heading}.ts`);
  await writeFile(file, `${code}${KEYS}`);
  const child = spawn(process.execPath, [file], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{"agentId"')) continue;
    const origin = `http://localhost:${port}`;
    return {
      ...(JSON.parse(line) as Pick<Mounted, "agentId" | "apiKey" | "runtimeKey">),
      origin,
      url: `${origin}/patchbay`,
      async stop() {
        child.kill("SIGTERM");
        const [code] = (await once(child, "exit")) as [number | null];
        return code;
      },
    };
  }
  throw new Error(`The program of the section ${heading} ended`);
}

/**
 * Checks that a section's server answers clients and runtimes below the prefix, and other requests itself. A server with WebSockets of
 * its own keeps sockets for other paths.
 */
export async function expectMounted(folder: string, heading: string, { ownSockets = false } = {}): Promise<void> {
  const { origin, url, agentId, apiKey, runtimeKey, stop } = await startMounted(folder, heading);
  const runtime = connect(service, { url, agentId, key: runtimeKey, log: silentLog });
  onTestFinished(() => runtime.stop());
  await runtime.ready;

  const ask = (path: string) =>
    fetch(`${url}/agents/${agentId}/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": apiKey },
      body: JSON.stringify({ query: "How many pieces of the article tent are in stock?" }),
    });
  expect(await (await ask("query")).json()).toMatchObject({
    success: true,
    toolInteractions: [{ toolName: "count_stock", result: { pieces: 4 } }],
  });
  const events = parseSse(await (await ask("query-stream")).text());
  expect(events.at(-1)?.data).toMatchObject({ type: "finalResponse" });
  expect(await (await fetch(`${url}/agents/none`)).json()).toMatchObject({ success: false, code: "not_found" });
  expect(await (await fetch(origin)).text()).toContain("The shop");
  expect((await fetch(`${url}/`, { redirect: "manual" })).headers.get("Location")).toBe("/patchbay/console");

  const other = openSocket(Number(new URL(origin).port), "localhost").on("error", () => {});
  onTestFinished(() => void other.destroy());
  other.write("GET /elsewhere HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  if (!ownSockets) await once(other.resume(), "close");
  expect(await stop()).toBe(0);
}
