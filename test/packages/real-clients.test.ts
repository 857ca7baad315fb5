import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Script } from "@patchbay/test-support/providers";
import { startContractSystem } from "../contract/contract-system.ts";

const PACKAGES = [
  "@ai-sdk/mcp@2.0.99",
  "@ai-sdk/openai-compatible@3.0.92",
  "@langchain/core@1.4.0",
  "@langchain/mcp-adapters@1.1.4",
  "@langchain/openai@1.6.0",
  "@openai/agents@0.20.0",
  "@openai/codex@0.171.0",
  "ai@7.0.173",
  "autocannon@9.0.0",
  "eventsource@5.1.5",
  "mcporter@0.12.3",
  "promptfoo@0.123.1",
  "zod@4.6.7",
];
const execute = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "patchbay-clients-"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await execute("npm", ["install", "--no-audit", "--no-fund", ...PACKAGES], { cwd: folder });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Calls `refund` in each first turn, and answers then. */
const refunding: Script = ({ step }) =>
  step === 0 ? { calls: [{ name: "refund", arguments: { id: "A-1" } }] } : { text: "Refunded A-1." };

async function start() {
  const system = await startContractSystem(refunding);
  const { agentId, apiKey, url, desk } = system;
  const base = `${url}/agents/${agentId}`;
  const model = `${agentId}:support`;
  const env = {
    ...process.env,
    BASE: base,
    MODEL: model,
    OPENAI_API_KEY: apiKey,
    OPENAI_BASE_URL: `${base}/v1`,
    OPENAI_AGENTS_DISABLE_TRACING: "1",
    PROMPTFOO_DISABLE_TELEMETRY: "1",
    PROMPTFOO_DISABLE_UPDATE: "1",
    PROMPTFOO_CONFIG_DIR: join(folder, "promptfoo"),
    PROMPTFOO_FAILED_TEST_EXIT_CODE: "0",
    HOME: folder,
    CODEX_HOME: folder,
  };
  const run = async (file: string, ...args: string[]) => {
    const running = execute(file, args, { cwd: folder, env, maxBuffer: Infinity });
    running.child.stdin?.end();
    return (await running).stdout;
  };
  return {
    ...system,
    base,
    model,
    run,
    /** Runs a program, and returns the JSON that it prints. */
    async program(code: string): Promise<unknown> {
      await writeFile(join(folder, "program.js"), code);
      return JSON.parse(await run("node", "program.js"));
    },
    /** The roles under which `refund` ran. */
    roles: () => desk.handled.map(({ name, role }) => `${name} as ${role}`),
  };
}

const ANSWER = "Refunded A-1.";

test("@openai/agents runs with its default API, in streams and in a thread", async () => {
  await using system = await start();

  const answers = await system.program(`
    import { Agent, run } from "@openai/agents";

    const agent = new Agent({ name: "Desk", instructions: "Be brief.", model: process.env.MODEL });
    const first = await run(agent, "Refund order A-1");
    const second = await run(agent, "And now?", { previousResponseId: first.lastResponseId });
    const streamed = await run(agent, [...second.history, { role: "user", content: "And then?" }], { stream: true });
    let text = "";
    for await (const part of streamed.toTextStream()) text += part;
    await streamed.completed;
    console.log(JSON.stringify([first.finalOutput, second.finalOutput, text, streamed.finalOutput]));
  `);

  expect(answers).toEqual([ANSWER, ANSWER, ANSWER, ANSWER]);
  expect(new Set(system.roles())).toEqual(new Set(["refund as support"]));
});

test("@openai/agents runs with chat completions", async () => {
  await using system = await start();

  const answer = await system.program(`
    import { Agent, run, setOpenAIAPI } from "@openai/agents";

    setOpenAIAPI("chat_completions");
    const agent = new Agent({ name: "Desk", instructions: "Be brief.", model: process.env.MODEL });
    console.log(JSON.stringify((await run(agent, "Refund order A-1")).finalOutput));
  `);

  expect([answer, system.roles()]).toEqual([ANSWER, ["refund as support"]]);
});

test("Codex shows the answer", async () => {
  await using system = await start();
  const provider = {
    name: "desk",
    base_url: `${system.base}/v1`,
    env_key: "OPENAI_API_KEY",
    wire_api: "responses",
    request_max_retries: 0,
    stream_max_retries: 0,
  };
  const settings = Object.entries(provider).map(
    ([name, value]) => `model_providers.desk.${name}=${JSON.stringify(value)}`,
  );
  const options = ['model_provider="desk"', ...settings].flatMap((setting) => ["-c", setting]);

  const command = ["codex", "exec", "--skip-git-repo-check", ...options, "-m", system.model, "Refund order A-1"];

  const text = await system.run("npx", ...command);

  expect(text).toContain(ANSWER);
  expect(system.roles()).toEqual(["refund as support"]);
});

test("the AI SDK's provider for compatible servers gets and streams an answer", async () => {
  await using system = await start();

  const answers = await system.program(`
    import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
    import { generateText, streamText } from "ai";

    const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey, MODEL } = process.env;
    const model = createOpenAICompatible({ name: "desk", baseURL, apiKey })(MODEL);
    const { text } = await generateText({ model, prompt: "Refund order A-1" });
    console.log(JSON.stringify([text, await streamText({ model, prompt: "Refund order A-1" }).text]));
  `);

  expect(answers).toEqual([ANSWER, ANSWER]);
  expect(system.roles()).toEqual(["refund as support", "refund as support"]);
});

test("LangChain's model for OpenAI gets and streams an answer", async () => {
  await using system = await start();

  const answers = await system.program(`
    import { ChatOpenAI } from "@langchain/openai";

    const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey, MODEL: model } = process.env;
    const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL } });
    let text = "";
    for await (const part of await chat.stream("Refund order A-1")) text += part.text;
    console.log(JSON.stringify([(await chat.invoke("Refund order A-1")).text, text]));
  `);

  expect(answers).toEqual([ANSWER, ANSWER]);
  expect(system.roles()).toEqual(["refund as support", "refund as support"]);
});

const HEADERS = `{ "X-API-Key": process.env.OPENAI_API_KEY, "X-Patchbay-Role": "support" }`;

test("LangChain's adapter calls a function over MCP", async () => {
  await using system = await start();

  const names = await system.program(`
    import { MultiServerMCPClient } from "@langchain/mcp-adapters";

    const url = process.env.BASE + "/mcp";
    const client = new MultiServerMCPClient({ mcpServers: { desk: { transport: "http", url, headers: ${HEADERS} } } });
    const tools = await client.getTools();
    await tools.find(({ name }) => name.endsWith("refund")).invoke({ id: "A-1" });
    await client.close();
    console.log(JSON.stringify(tools.map(({ name }) => name)));
  `);

  expect(names).toContain("refund");
  expect(system.roles()).toEqual(["refund as support"]);
});

test("the AI SDK's MCP client calls a function", async () => {
  await using system = await start();

  const names = await system.program(`
    import { createMCPClient } from "@ai-sdk/mcp";

    const transport = { type: "http", url: process.env.BASE + "/mcp", headers: ${HEADERS} };
    const client = await createMCPClient({ transport });
    const tools = await client.tools();
    await tools.refund.execute({ id: "A-1" }, { toolCallId: "1", messages: [] });
    await client.close();
    console.log(JSON.stringify(Object.keys(tools)));
  `);

  expect(names).toContain("refund");
  expect(system.roles()).toEqual(["refund as support"]);
});

test("mcporter lists and calls a function", async () => {
  await using system = await start();
  const headers = { "X-API-Key": system.apiKey, "X-Patchbay-Role": "support" };
  const config = { mcpServers: { desk: { baseUrl: `${system.base}/mcp`, headers } } };
  await writeFile(join(folder, "mcporter.json"), JSON.stringify(config));
  const mcporter = (...args: string[]) => system.run("npx", "mcporter", "--config", "mcporter.json", ...args);

  expect(await mcporter("list", "desk")).toContain("refund");
  await mcporter("call", "desk.refund", "id=A-1");

  expect(system.roles()).toEqual(["refund as support"]);
});

test("eventsource reads a query's stream", async () => {
  await using system = await start();

  const events = await system.program(`
    import { EventSource } from "eventsource";

    const headers = { "Content-Type": "application/json", "X-API-Key": process.env.OPENAI_API_KEY };
    const body = JSON.stringify({ query: "Refund order A-1", role: "support" });
    const send = (url, init) => fetch(url, { ...init, method: "POST", headers: { ...init.headers, ...headers }, body });
    const source = new EventSource(process.env.BASE + "/query-stream", { fetch: send });
    const seen = [];
    source.addEventListener("message", ({ data }) => {
      const { type } = JSON.parse(data);
      seen.push(type);
      if (type !== "finalResponse") return;
      source.close();
      console.log(JSON.stringify(seen));
    });
  `);

  expect(events).toEqual(["toolCall", "toolResult", "finalResponse"]);
  expect(system.roles()).toEqual(["refund as support"]);
});

test("autocannon gets an answer to each query", async () => {
  await using system = await start();
  const body = JSON.stringify({ query: "Refund order A-1", role: "support" });
  const headers = ["Content-Type=application/json", `X-API-Key=${system.apiKey}`].flatMap((header) => ["-H", header]);

  const args = ["-j", "-m", "POST", "-a", "10", "-c", "2", ...headers, "-b", body, `${system.base}/query`];
  const counted = JSON.parse(await system.run("npx", "autocannon", ...args)) as object;

  expect(counted).toMatchObject({ "2xx": 10, non2xx: 0, errors: 0 });
  expect(system.roles()).toHaveLength(10);
});

test("promptfoo evaluates an answer", async () => {
  await using system = await start();
  const config = {
    providers: [{ id: `openai:chat:${system.model}`, config: { showThinking: false } }],
    prompts: ["Refund order {{id}}"],
    tests: [{ vars: { id: "A-1" }, assert: [{ type: "equals", value: ANSWER }] }],
  };
  await writeFile(join(folder, "promptfoo.json"), JSON.stringify(config));

  await system.run("npx", ..."promptfoo eval -c promptfoo.json -o results.json --no-cache --no-table".split(" "));

  const { results } = JSON.parse(await readFile(join(folder, "results.json"), "utf8")) as { results: object };
  expect(results).toMatchObject({ results: [{ response: { output: ANSWER } }], stats: { successes: 1 } });
  expect(system.roles()).toEqual(["refund as support"]);
});
