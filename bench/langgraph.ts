import { fileURLToPath } from "node:url";
import { installCompared } from "./build.ts";
import { MODELS, QUERY } from "./models.ts";
import type { Postgres } from "./postgres.ts";
import { freePort } from "@patchbay/test-support/free-port";
import { launch } from "./process.ts";
import type { Asking, Question, Target } from "./system.ts";

const FOLDER = fileURLToPath(new URL("langgraph", import.meta.url));

/** (L) LangGraph's agent with its Postgres checkpointer behind Hono: the function runs in the same process; no keys, roles or credits. */
export function langgraph(postgres: Postgres): Target {
  installCompared(FOLDER);
  return {
    letter: "L",
    name: "LangGraph on Postgres",
    queriesOnly: true,
    async start({ provider }) {
      await using opening = new AsyncDisposableStack();
      const database = opening.use(await postgres.createDatabase());
      const port = await freePort();
      const env = { NODE_ENV: "production" };
      const startedAt = performance.now();
      const args = [String(port), provider, database.url];
      const server = opening.use(launch(`${FOLDER}/server.js`, args, { env, cwd: FOLDER }));
      const started = opening.move();
      return {
        ports: [port],
        startedAt,
        pids: () => [server.pid],
        databaseCpuMs: () => postgres.cpuMs(),
        ask: async (question) => ask(question),
        [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
      };
    },
  };
}

function ask({ model }: Question): Asking {
  const body = JSON.stringify({ query: QUERY, model: MODELS[model] });
  const requests = [{ path: "/query", headers: {}, body }];
  return { requests, expect: [{ text: '{"success":true,"text":"token0 ', times: 1 }], moments: {} };
}
