import { fileURLToPath } from "node:url";
import { installCompared } from "./build.ts";
import { freePort } from "@patchbay/test-support/free-port";
import { launch } from "./process.ts";
import { uiHistory } from "./history.ts";
import { MODELS, QUERY, TOKENS } from "./models.ts";

import type { Asking, Question, Target } from "./system.ts";

const FOLDER = fileURLToPath(new URL("ai-sdk", import.meta.url));

/** (C) Vercel's AI SDK behind Hono: the function runs in the same process; no storage, keys, roles or credits. */
export function aiSdk(): Target {
  installCompared(FOLDER);
  return {
    letter: "C",
    name: "AI SDK",
    async start({ provider }) {
      const port = await freePort();
      // As its documentation recommends for production; otherwise it also records for its developer tools.
      const env = { NODE_ENV: "production" };
      const startedAt = performance.now();
      const server = launch(`${FOLDER}/server.js`, [String(port), provider], { env, cwd: FOLDER });
      return {
        ports: [port],
        startedAt,
        pids: () => [server.pid],
        ask: async (question) => ask(question),
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  };
}

function ask({ model, form, history = 0 }: Question): Asking {
  const query = { id: "q", role: "user", parts: [{ type: "text", text: QUERY }] };
  const body = JSON.stringify({ model: MODELS[model], messages: [...uiHistory(history), query] });
  const requests = [{ path: form === "json" ? "/query" : "/stream", headers: {}, body }];
  if (form === "json") return { requests, expect: [{ text: '{"success":true', times: 1 }], moments: {} };
  return {
    requests,
    expect: [
      { text: '"type":"text-delta"', times: TOKENS[model] },
      { text: '"type":"tool-output-available"', times: 1 },
      { text: '"type":"finish"', times: 1 },
    ],
    // Its "start" event is sent before the model answers, so the first call counts.
    moments: { event: '"type":"tool-input-start"', token: '"type":"text-delta"' },
  };
}
