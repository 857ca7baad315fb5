import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Installation } from "./build.ts";
import { freePort } from "@patchbay/test-support/free-port";
import { launch, measuredPid } from "./process.ts";
import { MODELS, QUERY, TOKENS } from "./models.ts";

import type { Copy, Storage } from "./storage.ts";
import type { Asking, Letter, Question, System, Target, TargetOptions } from "./system.ts";

export const ROLE = "support";
const TIERS = { bench: { queriesPerMinute: 10_000_000, charged: true } };
const PRICES = {
  models: Object.fromEntries(Object.values(MODELS).map((model) => [model, { input: 0.4, output: 1.6 }])),
};
/** A query with one call adds its text, the call, the result and the answer. */
const MESSAGES_OF_QUERY = 4;

const execute = promisify(execFile);

export interface Deployment {
  letter: Letter;
  name: string;
  storage: Storage;
  queriesOnly?: true;
  /** Default 1. Several need a bus. */
  replicas?: number;
  bus?: { url: string; pid: number };
}

/** A target that can also be started on data which remain when it stops. */
export interface Deployed extends Target {
  storage: Storage;
  startOn(copy: Copy, options: TargetOptions): Promise<System>;
  /** The agent, and the link with which the owner signs in to the console, once for each copy. */
  console: { agentId: string; link: string };
  apiKey: string;
}

export const isDeployed = (target: Target): target is Deployed => "startOn" in target;

/**
 * Patchbay as an owner deploys it: the built `patchbay serve`, an organisation with credits and a rate limit, a key, a role, and
 * the function in another process, `patchbay connect`, which has a connection to the first replica.
 */
export async function patchbay(
  { command }: Installation,
  service: string,
  folder: string,
  { letter, name, storage, queriesOnly, replicas = 1, bus }: Deployment,
): Promise<Deployed> {
  mkdirSync(folder, { recursive: true });
  const tiers = join(folder, "tiers.json");
  const prices = join(folder, "prices.json");
  writeFileSync(tiers, JSON.stringify(TIERS));
  writeFileSync(prices, JSON.stringify(PRICES));

  async function admin(...args: string[]): Promise<Record<string, string>> {
    const { stdout } = await execute(process.execPath, [command, ...args, ...storage.template, "--json"], {
      cwd: folder,
    });
    return JSON.parse(stdout) as Record<string, string>;
  }
  const { orgId = "" } = await admin("orgs", "create", "Bench", "--tier", "bench", "--tiers", tiers);
  await admin("credits", "grant", "1000000", "--org", orgId);
  const { agentId = "", apiKey = "" } = await admin("agents", "create", "Orders", "--org", orgId);
  const { runtimeKey = "" } = await admin("runtime-keys", "create", "--agent", agentId);
  const { link = "" } = await admin("members", "invite", "owner@example.com", "--org", orgId, "--role", "owner");

  const deployed: Deployed = {
    letter,
    name,
    storage,
    console: { agentId, link },
    apiKey,
    ...(queriesOnly && { queriesOnly }),
    async start(options) {
      await using opening = new AsyncDisposableStack();
      const copy = opening.use(await storage.copy());
      const system = opening.use(await deployed.startOn(copy, options));
      const started = opening.move();
      return { ...system, [Symbol.asyncDispose]: () => started[Symbol.asyncDispose]() };
    },
    async startOn({ options, databaseCpuMs }, { provider, under, profile, preload }) {
      await using opening = new AsyncDisposableStack();
      const ports = await Promise.all(Array.from({ length: replicas }, freePort));
      const env = {
        OPENAI_API_KEY: "bench",
        OPENAI_BASE_URL: provider,
        OPENAI_API: "chat",
        PATCHBAY_MODEL: MODELS.short,
        PATCHBAY_PRICES: prices,
        ...nodeOptions({ profile, preload }),
      };
      const serve = ["serve", ...options, "--tiers", tiers, "--json", ...(bus ? ["--nats", bus.url] : [])];
      const startedAt = performance.now();
      const servers = ports.map((port) =>
        opening.use(launch(command, [...serve, "--port", String(port)], { env, cwd: folder, ...(under && { under }) })),
      );
      // Started without waiting, as a supervisor does; it retries until the server listens.
      const connect = ["connect", service, "--url", `http://127.0.0.1:${ports[0]}`, "--agent", agentId, "--json"];
      const functions = opening.use(
        launch(command, connect, {
          env: { PATCHBAY_RUNTIME_KEY: runtimeKey, ...nodeOptions({ preload }) },
          cwd: folder,
        }),
      );
      const started = opening.move();
      return {
        ports,
        startedAt,
        pids: () => [
          ...servers.map(({ child }) => measuredPid(child, under)),
          functions.pid,
          ...(bus ? [bus.pid] : []),
        ],
        ...(databaseCpuMs && { databaseCpuMs }),
        ask: (question) => ask({ port: ports[0]!, agentId, apiKey }, question),
        [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
      };
    },
  };
  return deployed;
}

function nodeOptions({ profile, preload }: { profile?: string | undefined; preload?: string | undefined }) {
  const options = [
    ...(profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`]),
    ...(preload === undefined ? [] : [`--import=${preload}`]),
  ];
  return options.length === 0 ? {} : { NODE_OPTIONS: options.join(" ") };
}

interface Access {
  port: number;
  agentId: string;
  apiKey: string;
}

async function ask(access: Access, { model, form, history = 0, conversations = 1 }: Question): Promise<Asking> {
  const threads = history === 0 ? [undefined] : await createThreads(access, conversations, history);
  const requests = threads.map((threadId) =>
    request(access, { model, form, ...(threadId !== undefined && { threadId }) }),
  );
  if (form === "json") return { requests, expect: [{ text: '{"success":true', times: 1 }], moments: {} };
  return {
    requests,
    expect: [
      { text: '"type":"responseDelta"', times: TOKENS[model] },
      { text: '{"type":"finalResponse"', times: 1 },
    ],
    moments: { event: '"type":"toolCall"', token: '"type":"responseDelta"' },
  };
}

function request(
  { agentId, apiKey }: Access,
  { model, form, threadId }: { model: Question["model"]; form: Question["form"]; threadId?: string },
) {
  return {
    path: `/agents/${agentId}/${form === "json" ? "query" : "query-stream"}`,
    headers: { "x-api-key": apiKey, ...(form === "stream" && { accept: "text/event-stream" }) },
    body: JSON.stringify({
      query: QUERY,
      role: ROLE,
      llmConfig: { provider: "openai", model: MODELS[model] },
      ...(form === "stream" && { includeDeltas: true }),
      ...(threadId !== undefined && { threadId }),
    }),
  };
}

/** Creates threads of `messages` messages each, by sending queries as users do. */
async function createThreads(access: Access, threads: number, messages: number): Promise<string[]> {
  const one = async (): Promise<string> => {
    let threadId: string | undefined;
    for (let i = 0; i < Math.round(messages / MESSAGES_OF_QUERY); i++) {
      const { path, headers, body } = request(access, {
        model: "short",
        form: "json",
        ...(threadId !== undefined && { threadId }),
      });
      const response = await fetch(`http://127.0.0.1:${access.port}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body,
      });
      ({ threadId } = (await response.json()) as { threadId?: string });
      if (threadId === undefined) throw new Error(`a thread could not be created: status ${response.status}`);
    }
    return threadId ?? "";
  };
  const made: string[] = [];
  for (let at = 0; at < threads; at += 16) {
    made.push(...(await Promise.all(Array.from({ length: Math.min(16, threads - at) }, one))));
  }
  return made;
}
