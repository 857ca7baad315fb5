import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createControlPlane } from "@patchbay/control-plane";
import { connect, defineFunction, defineService, everyone } from "@patchbay/functions";
import { z } from "zod";

// Functions that a model may call, with their roles.
const stock = new Map([
  ["tent", 4],
  ["stove", 0],
]);
export const service = defineService({
  name: "warehouse",
  functions: [
    defineFunction({
      name: "count_stock",
      description: "Counts how many pieces of an article are in stock.",
      input: z.object({ article: z.enum(["tent", "stove"]).describe("Name of the article") }),
      roles: everyone,
      effect: "read",
      handler: ({ article }) => ({ article, pieces: stock.get(article) ?? 0 }),
    }),
  ],
});

/** A complete Patchbay in this process: control plane, agent and functions, in a server with other routes. Sends one query and stops. */
export async function ask(query: string): Promise<{ response: string; toolInteractions: unknown[] }> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const publicUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/patchbay`;
  const plane = await createControlPlane({
    database: "sqlite::memory:", // sqlite:./patchbay.db keeps runs across restarts
    port: false,
    publicUrl,
    providers: { offline: true }, // or anthropic: { apiKey }, openai: { apiKey, api: "responses" }, gemini: { apiKey }
  });
  server.on("request", (request, response) => {
    if (request.url?.startsWith("/patchbay/")) plane.listener(request, response);
    else response.end("The warehouse");
  });
  server.on("upgrade", (request, socket, head) => {
    if (!plane.upgrade(request, socket, head)) socket.destroy();
  });
  try {
    const { agentId, apiKey } = await plane.admin.createAgent("Warehouse");
    const { runtimeKey } = await plane.admin.createRuntimeKey({ agentId });
    const runtime = connect(service, { url: publicUrl, agentId, key: runtimeKey });
    await runtime.ready;

    const response = await fetch(`${publicUrl}/agents/${agentId}/query`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": apiKey },
      body: JSON.stringify({ query }),
    });
    const answer = (await response.json()) as { response: string; toolInteractions: unknown[] };
    await runtime.stop();
    return answer;
  } finally {
    await plane.close();
    server.close();
  }
}

if (import.meta.main) console.log((await ask("How many pieces of the article tent are in stock?")).response);
