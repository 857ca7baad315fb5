// (C) The AI SDK behind Hono, written as in its documentation: generateText for one answer, streamText as a UI message
// stream, the provider's .chat() for a compatible server, the tool in this process. It does not store runs or check keys.
import { createOpenAI } from "@ai-sdk/openai";
import { serve } from "@hono/node-server";
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  generateText,
  isStepCount,
  streamText,
  tool,
  toUIMessageStream,
} from "ai";
import { Hono } from "hono";
import { z } from "zod";

const [port, provider] = process.argv.slice(2);
const openai = createOpenAI({ baseURL: provider, apiKey: "bench" });

const tools = {
  look_up_order: tool({
    description: "Looks up one order: its status, its items and where it is.",
    inputSchema: z.object({ orderId: z.string().describe("Id of the order, such as #W100") }),
    execute: async ({ orderId }) => ({
      orderId,
      status: "in transit",
      carrier: "Northern Parcel",
      items: ["desk lamp, brass, 40 W", "bulb, warm white"],
      expected: "2026-11-24",
      lastSeen: "Hamburg, 2026-11-21 04:12",
    }),
  }),
};

const instructions = "You are a helpful assistant.";

const app = new Hono()
  .post("/query", async (c) => {
    const { messages, model } = await c.req.json();
    const { text } = await generateText({
      model: openai.chat(model),
      instructions,
      tools,
      stopWhen: isStepCount(5),
      messages: await convertToModelMessages(messages),
    });
    return c.json({ success: true, text });
  })
  .post("/stream", async (c) => {
    const { messages, model } = await c.req.json();
    const result = streamText({
      model: openai.chat(model),
      instructions,
      tools,
      stopWhen: isStepCount(5),
      messages: await convertToModelMessages(messages),
    });
    return createUIMessageStreamResponse({ stream: toUIMessageStream({ stream: result.stream }) });
  });

serve({ fetch: app.fetch, port: Number(port), hostname: "127.0.0.1" }, (address) => {
  process.stdout.write(`${JSON.stringify({ ready: true, port: String(address.port) })}\n`);
});
