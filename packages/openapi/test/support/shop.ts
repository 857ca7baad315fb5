import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import {
  type CallerWithToken,
  type CallOutcome,
  defineService,
  type FlowOptions,
  type JsonObject,
  type Log,
  type LogFields,
  type Manifest,
} from "@patchbay/functions";
import { openapiFunctions, type OpenApiFunctions, type OpenApiOptions } from "../../src/index.ts";

/** A request that the stand-in received. */
export interface Received {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export const json =
  (value: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));

export interface StandIn extends AsyncDisposable {
  url: string;
  received: Received[];
  answer: Answer;
}

/** A server that records requests, and answers each as `answer` says. */
export async function startStandIn(): Promise<StandIn> {
  const server = createServer(async (request, response) => {
    const body = await text(request);
    standIn.received.push({ method: request.method!, url: request.url!, headers: request.headers, body });
    standIn.answer(request, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const standIn: StandIn = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    answer: json({}),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return standIn;
}

export interface Line {
  level: string;
  message: string;
  fields: LogFields | undefined;
}

export function memoryLog(): Log & { lines: Line[] } {
  const lines: Line[] = [];
  const write = (level: string) => (message: string, fields?: LogFields) => void lines.push({ level, message, fields });
  const log = {
    lines,
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: () => log,
  };
  return log;
}

/** A document with one operation for each entry, such as `"GET /orders"`. */
export function documentOf(operations: Record<string, JsonObject>, rest: JsonObject = {}): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const [key, operation] of Object.entries(operations)) {
    const [method, path] = key.split(" ") as [string, string];
    (paths[path] ??= {})[method.toLowerCase()] = { responses: { 200: { description: "ok" } }, ...operation };
  }
  return { openapi: "3.1.0", info: { title: "Shop", version: "1" }, paths, ...rest };
}

/** An answer with a JSON schema. */
export const answering = (schema: JsonObject): JsonObject => ({
  200: { description: "ok", content: { "application/json": { schema } } },
});

interface CallOptions {
  role?: string;
  context?: JsonObject;
  caller?: CallerWithToken;
  signal?: AbortSignal;
  timeoutMs?: number;
}

export interface Shop extends AsyncDisposable {
  api: OpenApiFunctions;
  /** The function set of a service with the operations. */
  manifest: Manifest;
  standIn: StandIn;
  log: ReturnType<typeof memoryLog>;
  call(name: string, input?: JsonObject, options?: CallOptions): Promise<CallOutcome>;
  /** Calls, and returns the request that the API received. */
  sent(name: string, input?: JsonObject, options?: CallOptions): Promise<Received>;
}

/** A service with the operations of a document, offered to everyone, and a stand-in for its API. */
export async function openShop(
  document: OpenApiOptions["document"],
  { flows, ...options }: Partial<OpenApiOptions> & { flows?: FlowOptions } = {},
): Promise<Shop> {
  const standIn = await startStandIn();
  const log = memoryLog();
  const api = await openapiFunctions({
    name: "shop",
    document,
    server: standIn.url,
    roles: { "*": "everyone" },
    log,
    ...options,
  });
  const service = defineService({ name: "desk", functions: [...api.functions], ...(flows && { flows }) });
  const call: Shop["call"] = (name, input = {}, { role, context = {}, caller, signal, timeoutMs = 60_000 } = {}) =>
    service.invoke(
      {
        functionName: `shop_${name}`,
        arguments: input,
        context,
        threadId: "thr_1",
        runId: "run_1",
        callId: "call_1",
        attempt: 1,
        timeoutMs,
        ...(role !== undefined && { role }),
        ...(caller && { caller }),
      },
      { signal: signal ?? new AbortController().signal, log },
    );
  return {
    api,
    manifest: service.manifest,
    standIn,
    log,
    call,
    async sent(...given) {
      const outcome = await call(...given);
      const request = standIn.received.at(-1);
      if (!request) throw new Error(`no request was sent: ${JSON.stringify(outcome)}`);
      return request;
    },
    async [Symbol.asyncDispose]() {
      api.close();
      await standIn[Symbol.asyncDispose]();
    },
  };
}

/** A folder that exists during one test. */
export async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), "patchbay-openapi-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
