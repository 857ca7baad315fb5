import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import { createHandlers, type UpgradeHandler } from "../../../src/kernel/handlers.ts";
import { createHttpServer, type HttpServer } from "../../../src/kernel/server.ts";
import { createHttpApp } from "../../../src/query/app.ts";
import type { HttpDeps } from "../../../src/query/deps.ts";
import { createOpenStreams } from "../../../src/query/open-streams.ts";
import type { Log, LogFields } from "@patchbay/kit";
import { silentMetrics } from "@patchbay/engine/ports/metrics";
import type { Credential, CredentialKind } from "@patchbay/engine/ports/store/stores";
import { createFakeRuns, type FakeRuns } from "./fake-runs.ts";

export const API_KEY = "service_live_mine";
export const ACCESS_TOKEN = "access-token";
export const RUNTIME_KEY = "runtime-key";

export const QUERY = "/agents/agent-1/query";
export const STREAM = "/agents/agent-1/query-stream";

const CREDENTIALS: Record<string, { kind: CredentialKind; agentId?: string; roles?: string[]; tier?: string }> = {
  [API_KEY]: { kind: "api" },
  [ACCESS_TOKEN]: { kind: "access" },
  [RUNTIME_KEY]: { kind: "runtime" },
};

export interface Line {
  level: keyof Omit<Log, "child">;
  message: string;
  fields?: LogFields;
}

export interface TestHttp extends AsyncDisposable {
  url: string;
  port: number;
  runs: FakeRuns;
  /** The lines of requests in the log, and all other lines. */
  requests: Line[];
  lines: Line[];
  server: HttpServer;
  counts: string[];
  /** Counted requests, by API and outcome. */
  answers: string[];
  openStreams(): number;
  /** Sends JSON with the API key by default. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
}

const unused = () => Promise.reject(new Error("not used here"));
const unusedApprovals = { requireRight() {}, list: unused, get: unused, decidable: unused, decide: unused };

/** The HTTP layer on a real socket, over a fake core. */
export async function startHttp(
  overrides: Partial<HttpDeps> = {},
  { upgrade = (_request, socket) => socket.destroy() }: { upgrade?: UpgradeHandler } = {},
): Promise<TestHttp> {
  const runs = createFakeRuns();
  const requests: Line[] = [];
  const lines: Line[] = [];
  const counts: string[] = [];
  const answers: string[] = [];
  let openStreams = 0;
  const log = memoryLog((line) => (line.message === "request" ? requests : lines).push(line));
  const app = createHttpApp({
    runs,
    approvals: unusedApprovals,
    threads: {
      list: async () => ({ items: [], nextCursor: null }),
      get: async () => undefined,
      ofKey: async () => undefined,
    },
    authenticate: async (kind, secret) => credentialOf(kind, secret),
    audit: { record: async () => {} },
    clientTokens: { create: unused, authenticate: async () => undefined },
    bus: createMemoryBus(),
    within: (_orgId, work) => work(),
    reads: { run: (_client, work) => work() },
    rateLimit: async () => undefined,
    adapterLimit: async () => undefined,
    closing: new AbortController().signal,
    ready: async () => true,
    streams: createOpenStreams({
      limits: DEFAULT_LIMITS,
      access: { hold: () => ({ [Symbol.dispose]() {} }) },
      metrics: {
        ...silentMetrics,
        streamOpened() {
          openStreams++;
          return { [Symbol.dispose]: () => void openStreams-- };
        },
      },
    }),
    metrics: {
      contentType: "text/plain; version=0.0.4; charset=utf-8",
      read: async () => "patchbay_up 1\n",
      requestAnswered: (api, outcome) => void answers.push(`${api} ${outcome}`),
      queryAnswered: (endpoint, outcome) => void counts.push(`${endpoint} ${outcome}`),
    },
    log,
    clock: { now: () => Date.now(), sleep: () => Promise.reject(new Error("not used here")) },
    version: "0.0.0",
    limits: DEFAULT_LIMITS,
    corsOrigins: [],
    local: true,
    trustProxy: false,
    ...overrides,
  });
  const server = createHttpServer({ handlers: createHandlers({ app, upgrade, log }), log });
  const { port } = await server.listen({ port: 0, host: "127.0.0.1" });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    runs,
    requests,
    lines,
    server,
    counts,
    answers,
    openStreams: () => openStreams,
    post: (path, body, headers) =>
      fetch(url + path, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-API-Key": API_KEY, ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    get: (path, headers) => fetch(url + path, { headers: { "X-API-Key": API_KEY, ...headers } }),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

function credentialOf(kind: CredentialKind, secret: string): Credential | undefined {
  const known = CREDENTIALS[secret];
  if (known?.kind !== kind) return undefined;
  const { agentId = "agent-1", tier = "sandbox", roles } = known;
  const shown = { credentialId: `id-of-${secret}`, hash: "", hint: "", label: "web shop", createdAt: 0 };
  return { ...shown, kind, agentId, orgId: "org-1", tier, ...(roles && { roles }) };
}

function memoryLog(keep: (line: Line) => void): Log {
  const at = (level: Line["level"]) => (message: string, fields?: LogFields) =>
    keep({ level, message, ...(fields && { fields }) });
  const log: Log = {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: () => log,
  };
  return log;
}
