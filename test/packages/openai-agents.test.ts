import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Script } from "@patchbay/test-support/providers";
import { startContractSystem } from "../contract/contract-system.ts";

const PACKAGES = ["@openai/agents@0.20.0", "@openai/codex@0.171.0", "zod@4.6.7"];
const execute = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "patchbay-openai-agents-"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await execute("npm", ["install", "--no-audit", "--no-fund", ...PACKAGES], { cwd: folder });
  await writeFile(join(folder, "agents.js"), AGENTS);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Calls `refund` in each first turn, and answers then. */
const refunding: Script = ({ step }) =>
  step === 0 ? { calls: [{ name: "refund", arguments: { id: "A-1" } }] } : { text: "Refunded A-1." };

async function start() {
  const system = await startContractSystem(refunding);
  const { agentId, apiKey, url } = system;
  const baseURL = `${url}/agents/${agentId}/v1`;
  const env = { ...process.env, OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL, OPENAI_AGENTS_DISABLE_TRACING: "1" };
  const run = async (file: string, args: string[]) => {
    const running = execute(file, args, { cwd: folder, env: { ...env, CODEX_HOME: folder } });
    running.child.stdin?.end();
    return await running;
  };
  return { ...system, model: `${agentId}:support`, baseURL, run };
}

const AGENTS = `
import { Agent, run } from "@openai/agents";

const agent = new Agent({ name: "Desk", instructions: "Be brief.", model: process.argv[2] });
const first = await run(agent, "Refund order A-1");
const second = await run(agent, "And now?", { previousResponseId: first.lastResponseId });
const streamed = await run(agent, [...second.history, { role: "user", content: "And then?" }], { stream: true });
let text = "";
for await (const part of streamed.toTextStream()) text += part;
await streamed.completed;
console.log(JSON.stringify([first.finalOutput, second.finalOutput, text, streamed.finalOutput]));
`;

test("@openai/agents runs with its default API, in streams and in a thread", async () => {
  await using system = await start();

  const { stdout } = await system.run("node", ["agents.js", system.model]);

  expect(JSON.parse(stdout)).toEqual(Array.from({ length: 4 }, () => "Refunded A-1."));
  expect(system.desk.handled.every(({ role }) => role === "support")).toBe(true);
});

test("Codex shows the answer", async () => {
  await using system = await start();
  const provider = { name: "desk", base_url: system.baseURL, env_key: "OPENAI_API_KEY", wire_api: "responses" };
  const settings = Object.entries({ ...provider, request_max_retries: 0, stream_max_retries: 0 }).flatMap(
    ([name, value]) => ["-c", `model_providers.desk.${name}=${JSON.stringify(value)}`],
  );

  const { stdout } = await system.run("npx", [
    "codex",
    "exec",
    "--skip-git-repo-check",
    "-c",
    'model_provider="desk"',
    ...settings,
    "-m",
    system.model,
    "Refund order A-1",
  ]);

  expect(stdout).toContain("Refunded A-1.");
  expect(system.desk.handled).toMatchObject([{ name: "refund", role: "support" }]);
});
