import { defineFunction, defineService } from "@patchbay/functions";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Era, mcpClient } from "@patchbay/test-support/mcp-client";
import { startDesk } from "../support/mcp-desk.ts";

const ERAS = ["2025", "2026"] as const satisfies readonly Era[];

const role = (name: string) => ({ headers: { "x-patchbay-role": name } });
const callOf = (name: string, input: Record<string, unknown> = {}) => ({ name, arguments: input });

test.each(ERAS)("a client of %s lists and calls the functions of its role only", async (era) => {
  await using system = await startDesk();
  const seen = async (headers: Record<string, string>) => {
    await using client = await mcpClient(system, { era, headers });
    const { tools } = await client.listTools();
    const { structuredContent } = await client.callTool(callOf("orders_find", { id: "o1" }));
    return [tools.map(({ name }) => name), structuredContent];
  };

  expect(await seen({})).toEqual([["fails", "orders_find"], { id: "o1" }]);
  expect(await seen(role("clerk").headers)).toEqual([
    ["fails", "numbers", "orders_find", "slow", "steps"],
    { id: "o1" },
  ]);
  expect(await seen(role("manager").headers)).toEqual([
    ["fails", "numbers", "orders_find", "refund"],
    { id: "o1", cost: 5 },
  ]);
});

test("a client of the first SDK lists and calls as each role", async () => {
  await using system = await startDesk();
  const seen = async (name: string) => {
    const client = new FirstClient({ name: "test", version: "1" });
    const requestInit = { headers: { authorization: `Bearer ${system.apiKey}`, "x-patchbay-role": name } };
    const address = new URL(`${system.url}/agents/${system.agentId}/mcp`);
    await client.connect(new FirstTransport(address, { requestInit }));
    const { tools } = await client.listTools();
    const { structuredContent } = await client.callTool(callOf("orders_find", { id: "o1" }));
    await client.close();
    return [tools.length, structuredContent];
  };

  expect(await seen("guest")).toEqual([2, { id: "o1" }]);
  expect(await seen("clerk")).toEqual([5, { id: "o1" }]);
  expect(await seen("manager")).toEqual([4, { id: "o1", cost: 5 }]);
});

test.each(ERAS)("a tool of %s has title, annotations and the schema of what the role receives", async (era) => {
  await using system = await startDesk();
  const toolsOf = async (name: string) => {
    await using client = await mcpClient(system, { era, ...role(name) });
    return new Map((await client.listTools()).tools.map((tool) => [tool.name, tool]));
  };
  const [clerk, manager] = [await toolsOf("clerk"), await toolsOf("manager")];

  expect(clerk.get("orders_find")).toMatchObject({
    title: "Find an order",
    annotations: { readOnlyHint: true, openWorldHint: false },
    inputSchema: { type: "object", required: ["id"] },
  });
  expect(manager.get("refund")?.annotations).toMatchObject({
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
  });
  expect(Object.keys(manager.get("orders_find")!.outputSchema!.properties as object)).toEqual(["id", "cost"]);
  expect(JSON.stringify(clerk.get("orders_find")?.outputSchema)).not.toContain("cost");
});

test.each(ERAS)("a call of %s returns what the role receives, as text and structured", async (era) => {
  await using system = await startDesk();
  await using clerk = await mcpClient(system, { era, ...role("clerk") });
  await using manager = await mcpClient(system, { era, ...role("manager") });
  await clerk.listTools();
  await manager.listTools();

  expect(await clerk.callTool(callOf("orders_find", { id: "o1" }))).toMatchObject({
    content: [{ type: "text", text: '{"id":"o1"}' }],
    structuredContent: { id: "o1" },
    _meta: { "patchbay/runId": expect.stringMatching(/^run_/) },
  });
  expect((await manager.callTool(callOf("orders_find", { id: "o1" }))).structuredContent).toEqual({
    id: "o1",
    cost: 5,
  });
  const numbers = (await clerk.callTool(callOf("numbers"))).structuredContent;
  expect(numbers).toEqual(era === "2025" ? { result: [1, 2] } : [1, 2]);
});

test("a function called by its own name answers as its tool does", async () => {
  await using system = await startDesk();
  await using client = await mcpClient(system, role("clerk"));

  const { structuredContent } = await client.callTool(callOf("orders.find", { id: "o1" }));

  expect(structuredContent).toEqual({ id: "o1" });
  await expect(client.callTool(callOf("orders:find", { id: "o1" }))).rejects.toThrow("Unknown tool: orders:find");
});

test.each(ERAS)("failures of %s are results, and hidden functions do not exist", async (era) => {
  await using system = await startDesk();
  await using client = await mcpClient(system, { era, ...role("clerk") });

  expect(await client.callTool(callOf("fails"))).toMatchObject({
    isError: true,
    _meta: { "patchbay/code": "function_failed" },
  });
  expect(JSON.stringify(await client.callTool(callOf("fails")))).not.toContain("secret detail");
  expect(await client.callTool(callOf("orders_find", { id: 7 }))).toMatchObject({
    isError: true,
    _meta: { "patchbay/code": "invalid_arguments" },
  });
  for (const name of ["refund", "nothing"])
    await expect(client.callTool(callOf(name))).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(`Unknown tool: ${name}`),
    });
});

test.each(ERAS)("calls of %s are runs of their own, in no list of threads", async (era) => {
  await using system = await startDesk();
  await using client = await mcpClient(system, { era, ...role("clerk") });

  const { _meta } = await client.callTool(callOf("orders_find", { id: "o1" }));

  const { items } = (await (await system.get(`/agents/${system.agentId}/threads`)).json()) as { items: unknown[] };
  expect(items).toEqual([]);
  const run = await system.get(`/agents/${system.agentId}/runs/${String(_meta?.["patchbay/runId"])}`);
  expect(await run.json()).toMatchObject({ status: "succeeded" });
});

test.each(ERAS)("progress of a function reaches a client of %s with a number that grows", async (era) => {
  await using system = await startDesk();
  await using client = await mcpClient(system, { era, ...role("clerk") });
  const numbers: number[] = [];
  const messages = new Set<string | undefined>();

  await client.callTool(callOf("steps"), {
    onprogress({ progress, message }) {
      numbers.push(progress);
      messages.add(message);
      if (messages.size === 2) system.seen();
    },
  });

  expect(messages).toEqual(new Set(["counted", "uncounted"]));
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
});

test.each(ERAS)("the end of the connection of a client of %s cancels the call", async (era) => {
  await using system = await startDesk();
  await using client = await mcpClient(system, { era, ...role("clerk") });
  const gone = new AbortController();
  const call = client.callTool(callOf("slow"), { signal: gone.signal }).catch((error: unknown) => error);
  const signal = await system.started;

  gone.abort();
  await client.close();

  await call;
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  // The time limit of the function would abort its signal too.
  const statuses = async () =>
    (await system.plane.store.runs.list(system.agentId, { limit: 9 })).map(({ status }) => status);
  await expect.poll(statuses).toEqual(["cancelled"]);
});

test.each(ERAS)("the agent is one tool for a client of %s, if the address says so", async (era) => {
  await using system = await startDesk();
  await using client = await mcpClient(system, { era, expose: "agent", ...role("clerk") });

  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["ask_desk"]);
  expect(await client.callTool(callOf("ask_desk", { query: "Find order o1" }))).toMatchObject({
    content: [{ type: "text" }],
    _meta: { "patchbay/threadId": expect.stringMatching(/^thr_/) },
  });
  await expect(client.callTool(callOf("orders_find", { id: "o1" }))).rejects.toThrow("Unknown tool");
});

test("a function with the name of the agent's tool keeps it", async () => {
  await using system = await startDesk();
  const service = defineService({
    name: "more",
    functions: [
      defineFunction({
        name: "ask_desk",
        description: "Asks the front desk.",
        input: z.object({}),
        roles: "everyone",
        handler: () => "asked",
      }),
    ],
  });
  await system.connect(service);
  await using client = await mcpClient(system, { expose: "both" });

  const names = (await client.listTools()).tools.map(({ name }) => name);

  expect(names).toEqual(["ask_desk", "fails", "orders_find", "ask_desk_2"]);
  expect((await client.callTool(callOf("ask_desk"))).content).toEqual([{ type: "text", text: "asked" }]);
  const { _meta } = await client.callTool(callOf("ask_desk_2", { query: "Find order o1" }));
  expect(_meta).toHaveProperty(["patchbay/threadId"]);
});
