// (L) LangGraph behind Hono, written as in its documentation: createAgent with a tool of this process and a PostgresSaver. Each
// query is a thread of its own. Durability "sync": each step is stored before the next one begins, as Patchbay does.
import { serve } from "@hono/node-server";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { ChatOpenAI } from "@langchain/openai";
import { Hono } from "hono";
import { createAgent, tool } from "langchain";
import { randomUUID } from "node:crypto";
import { z } from "zod";

const [port, provider, database] = process.argv.slice(2);

const lookUpOrder = tool(
  async ({ orderId }) =>
    JSON.stringify({
      orderId,
      status: "in transit",
      carrier: "Northern Parcel",
      items: ["desk lamp, brass, 40 W", "bulb, warm white"],
      expected: "2026-11-24",
      lastSeen: "Hamburg, 2026-11-21 04:12",
    }),
  {
    name: "look_up_order",
    description: "Looks up one order: its status, its items and where it is.",
    schema: z.object({ orderId: z.string().describe("Id of the order, such as #W100") }),
  },
);

const checkpointer = PostgresSaver.fromConnString(database);
await checkpointer.setup();

const agents = new Map();

/** One agent per model, made once. */
function agentOf(model) {
  if (!agents.has(model)) {
    const llm = new ChatOpenAI({ model, apiKey: "bench", configuration: { baseURL: provider } });
    agents.set(
      model,
      createAgent({ model: llm, tools: [lookUpOrder], systemPrompt: "You are a helpful assistant.", checkpointer }),
    );
  }
  return agents.get(model);
}

const app = new Hono().post("/query", async (c) => {
  const { query, model } = await c.req.json();
  const config = { configurable: { thread_id: randomUUID() }, durability: "sync" };
  const { messages } = await agentOf(model).invoke({ messages: [{ role: "user", content: query }] }, config);
  return c.json({ success: true, text: messages.at(-1).text });
});

serve({ fetch: app.fetch, port: Number(port), hostname: "127.0.0.1" }, (address) => {
  process.stdout.write(`${JSON.stringify({ ready: true, port: String(address.port) })}\n`);
});
