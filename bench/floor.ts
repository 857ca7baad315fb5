import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "@patchbay/test-support/free-port";
import { launch } from "./process.ts";
import { chatHistory } from "./history.ts";
import { MODELS, QUERY, TOKENS } from "./models.ts";
import type { Postgres } from "./postgres.ts";
import type { Asking, Question, Target } from "./system.ts";
import { stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";
import { ROOT } from "./build.ts";

/**
 * (B, F) The same structure as Patchbay with the least possible work: the lower limit for any design. Stores in a file, or on
 * `postgres`.
 */
export function floor(script: (name: string) => string, folder: string, postgres?: Postgres): Target {
  return {
    ...(postgres
      ? { letter: "F", name: "the floor on Postgres", queriesOnly: true }
      : { letter: "B", name: "the floor" }),
    async start({ provider }) {
      await using opening = new AsyncDisposableStack();
      const data = mkdtempSync(join(folder, "floor-"));
      opening.defer(() => rmSync(data, { recursive: true, force: true }));
      const database = postgres && opening.use(await postgres.createDatabase());
      const port = await freePort();
      const startedAt = performance.now();
      const stored = database?.url ?? join(data, "floor.db");
      const server = opening.use(launch(script("server.js"), [String(port), provider, stored]));
      const functions = opening.use(launch(script("functions.js"), [`ws://127.0.0.1:${port}/functions`]));
      const started = opening.move();
      return {
        ports: [port],
        startedAt,
        pids: () => [server.pid, functions.pid],
        ...(postgres && { databaseCpuMs: () => postgres.cpuMs() }),
        ask: async (question) => ask(question),
        [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
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

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** Writes the floor as JavaScript: stripping types at its start would cost time and memory that Patchbay's build does not need. */
export function stripFloor(folder: string): (script: string) => string {
  const target = join(folder, "floor");
  mkdirSync(join(target, "floor"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(target, "node_modules"));
  writeFileSync(join(target, "package.json"), '{ "type": "module" }');
  const sources = readdirSync(join(HERE, "floor")).map((name) => join("floor", name));
  for (const name of ["models.ts", ...sources]) {
    const code = stripTypeScriptTypes(readFileSync(join(HERE, name), "utf8"));
    writeFileSync(join(target, asJs(name)), code.replaceAll(/(from "\.[^"]*)\.ts"/g, '$1.js"'));
  }
  return (script) => join(target, "floor", script);
}

const asJs = (name: string): string => name.replace(/\.ts$/, ".js");
