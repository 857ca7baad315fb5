import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { z } from "zod";
import { createHub } from "./hub.ts";
import { takeTurn, type Message } from "./provider.ts";
import { openFile, openPostgres } from "./store.ts";

/** The floor's server: the structure of Patchbay with the least work. No keys, roles, credits, limits, recovery or resume. */
const [port = "0", provider = "", database = ":memory:"] = process.argv.slice(2);

const Query = z.object({
  query: z.string().min(1),
  model: z.string(),
  messages: z.array(z.looseObject({})).default([]),
});

const store = database.startsWith("postgres:") ? await openPostgres(database) : openFile(database);

/** Answers one query. */
async function answer(body: unknown, onEvent?: (event: object) => void): Promise<string> {
  const { query, model, messages } = Query.parse(body);
  const own: Message[] = [{ role: "user", content: query }];
  const run = await store.begin(query);
  for (;;) {
    const onText = onEvent && ((content: string) => onEvent({ type: "text", content }));
    const { text, calls } = await takeTurn(provider, model, [...messages, ...own], onText);
    if (calls.length === 0) {
      own.push({ role: "assistant", content: text });
      await run.end(own, text);
      return text;
    }
    const asked = calls.map(({ id, name, arguments: input }) => ({
      id,
      type: "function",
      function: { name, arguments: input },
    }));
    own.push({ role: "assistant", content: null, tool_calls: asked });
    await run.turn(own, calls);
    const results: { id: string; value: unknown }[] = [];
    for (const call of calls) {
      onEvent?.({ type: "call", name: call.name, arguments: call.arguments });
      const value = await hub.call(call.name, JSON.parse(call.arguments));
      onEvent?.({ type: "result", value });
      own.push({ role: "tool", tool_call_id: call.id, content: JSON.stringify(value) });
      results.push({ id: call.id, value });
    }
    await run.results(results);
  }
}

const encoder = new TextEncoder();
const app = new Hono()
  .post("/query", async (c) => c.json({ success: true, text: await answer(await c.req.json()) }))
  .post("/stream", async (c) => {
    const body: unknown = await c.req.json();
    const stream = new ReadableStream<Uint8Array>({
      async start(controller) {
        const send = (event: object) => controller.enqueue(encoder.encode(`data: ${JSON.stringify(event)}\n\n`));
        send({ type: "done", text: await answer(body, send) });
        controller.close();
      },
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  });

const server = serve({ fetch: app.fetch, port: Number(port), hostname: "127.0.0.1" }, ({ port }: AddressInfo) => {
  process.stdout.write(`${JSON.stringify({ ready: true, port: String(port) })}\n`);
});
const hub = createHub(server as Server);
