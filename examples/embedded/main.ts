import { createControlPlane } from "@patchbay/control-plane";
import { connect, defineFunction, defineService, everyone } from "@patchbay/functions";
import { z } from "zod";

// Functions that a model may call, with their roles.
const stock = new Map([
  ["tent", 4],
  ["stove", 0],
]);
const service = defineService({
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

/** A complete Patchbay in this process: control plane, agent and functions. Sends one query over HTTP and stops. */
export async function ask(query: string): Promise<{ response: string; toolInteractions: unknown[] }> {
  const plane = await createControlPlane({
    database: "sqlite::memory:", // sqlite:./patchbay.db keeps runs across restarts
    port: 0,
    providers: { offline: true }, // or anthropic: { apiKey }, openai: { apiKey, api: "responses" }, gemini: { apiKey }
  });
  try {
    const { agentId, apiKey } = await plane.admin.createAgent("Warehouse");
    const { runtimeKey } = await plane.admin.createRuntimeKey({ agentId });
    const runtime = connect(service, { url: plane.url, agentId, key: runtimeKey });
    await runtime.ready;

    const response = await fetch(`${plane.url}/agents/${agentId}/query`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": apiKey },
      body: JSON.stringify({ query }),
    });
    const answer = (await response.json()) as { response: string; toolInteractions: unknown[] };
    await runtime.stop();
    return answer;
  } finally {
    await plane.close();
  }
}

if (import.meta.main) console.log((await ask("How many pieces of the article tent are in stock?")).response);
