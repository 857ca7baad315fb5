import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { chatHistory } from "./history.ts";
import { MODELS, QUERY, TOKENS } from "./models.ts";
import { launch } from "./process.ts";
import type { Asking, Question, Target } from "./system.ts";

/** (B) The same shape as Patchbay with the least possible work: what no design can go below. */
export function floor(script: (name: string) => string, folder: string): Target {
  return {
    letter: "B",
    name: "the floor",
    async start({ provider }) {
      const data = mkdtempSync(join(folder, "floor-"));
      const port = await freePort();
      const startedAt = performance.now();
      const server = launch(script("server.js"), [String(port), provider, join(data, "floor.db")]);
      const functions = launch(script("functions.js"), [`ws://127.0.0.1:${port}/functions`]);
      return {
        port,
        startedAt,
        pids: () => [server.pid, functions.pid],
        ask: async (question) => ask(question),
        async [Symbol.asyncDispose]() {
          await functions[Symbol.asyncDispose]();
          await server[Symbol.asyncDispose]();
          rmSync(data, { recursive: true, force: true });
        },
      };
    },
  };
}

function ask({ model, form, history = 0 }: Question): Asking {
  const body = JSON.stringify({ query: QUERY, model: MODELS[model], messages: chatHistory(history) });
  const requests = [{ path: form === "json" ? "/query" : "/stream", headers: {}, body }];
  if (form === "json") return { requests, expect: [{ text: '{"success":true', times: 1 }], moments: {} };
  return {
    requests,
    expect: [
      { text: '"type":"text"', times: TOKENS[model] },
      { text: '"type":"done"', times: 1 },
    ],
    moments: { event: '"type":"call"', token: '"type":"text"' },
  };
}
