import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as nextLoop, setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@patchbay/kit";
import { anthropicWire } from "./anthropic-wire.ts";
import { geminiWire } from "./gemini-wire.ts";
import { type CompatibleServerName, compatibleServer } from "./compatible-servers.ts";
import { chatWire } from "./openai-chat-wire.ts";
import { responsesWire } from "./openai-responses-wire.ts";
import { promptCache } from "./prompt-cache.ts";
import type { RecordedRequest, RequestSummary, Script, ScriptedTurn, Wire } from "./script.ts";
import type { Incoming, Issued, WireFormat } from "./wire-format.ts";

const FORMATS: Record<Wire, WireFormat> = {
  anthropic: anthropicWire,
  "openai-responses": responsesWire,
  "openai-chat": chatWire,
  gemini: geminiWire,
};

/** The key that stand-ins accept; any other key gets 401. */
export const STAND_IN_KEY = "stand-in-key";

/** A scripted provider on loopback with a real wire format. */
export interface StandIn extends AsyncDisposable {
  readonly wire: Wire;
  readonly url: string;
  /** Requests so far, including rejected ones. */
  readonly requests: RecordedRequest[];
  /** For `createModelCatalog` and `createControlPlane`. */
  readonly config: JsonObject & StandInConfig;
  /** Environment variables that make another process use this stand-in by default. */
  readonly env: Record<string, string>;
  /** Resolves once `count` requests have arrived. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

interface StandInConfig {
  anthropic?: { apiKey: string; baseUrl: string };
  openai?: { apiKey: string; baseUrl: string; api: "responses" | "chat" };
  gemini?: { apiKey: string; baseUrl: string };
}

/**
 * With `countsTokens`, usage that a script omits is counted from the requests, with a prompt cache. With `server`, it
 * refuses what that server refuses.
 */
export async function startStandIn(
  wire: Wire,
  script: Script,
  { countsTokens = false, server: as }: { countsTokens?: boolean; server?: CompatibleServerName } = {},
): Promise<StandIn> {
  const format = FORMATS[wire];
  const compatible = as && compatibleServer(as);
  const count = countsTokens ? promptCache(wire) : undefined;
  /** By model: none accepts what another one issued. */
  const issued = new Map<string, Issued>();
  const requests: RecordedRequest[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];

  function issuedBy({ model }: RequestSummary): Issued {
    const known = issued.get(model) ?? new Map<string, string>();
    issued.set(model, known);
    return known;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    const path = new URL(request.url ?? "/", "http://stand-in").pathname;
    const body = JSON.parse(await textOf(request)) as JsonObject;
    const incoming: Incoming = { headers: request.headers, path, body };
    const recorded: RecordedRequest = {
      headers: request.headers,
      body,
      summary: format.summarise(incoming),
      answerBytes: 0,
      closed,
    };
    const turn = requests.push(recorded);
    for (const { count, resolve } of waiting) if (requests.length >= count) resolve();
    const refusal = refusalOf(incoming, recorded.summary);
    if (refusal) {
      recorded.refusal = refusal.message;
      return sendJson(response, refusal.status, format.errorBody(refusal));
    }
    const strict = compatible?.refuse?.(body);
    if (strict) {
      recorded.refusal = JSON.stringify(strict.body);
      return sendJson(response, strict.status, strict.body);
    }
    const scripted = await script(recorded.summary, turn);
    if (scripted.delayMs) await sleep(scripted.delayMs, undefined, { ref: false });
    if (scripted.error)
      return sendJson(response, scripted.error.status, format.errorBody(scripted.error), scripted.error.headers);
    const usage = { ...count?.(recorded.summary.model, body), ...scripted.usage };
    const answer = format.answer({ ...scripted, usage }, recorded.summary, issuedBy(recorded.summary));
    const ending = scripted.midStreamError ? [format.errorEvent(scripted.midStreamError)] : answer.terminal;
    const text = [...answer.body, ...ending].join("");
    const bytes = Buffer.from(compatible?.thoughts ? text.replaceAll("reasoning_content", compatible.thoughts) : text);
    recorded.answerBytes = bytes.length;
    return send(response, bytes, scripted);
  }

  function refusalOf(incoming: Incoming, summary: RequestSummary): { status: number; message: string } | undefined {
    if (!format.path.test(incoming.path)) return { status: 404, message: `no such path: ${incoming.path}` };
    if (format.key(incoming.headers) !== STAND_IN_KEY) return { status: 401, message: "invalid key" };
    const message = format.objection(incoming, issuedBy(summary));
    return message === undefined ? undefined : { status: 400, message };
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      // A fault of the script: the failed turn makes the test's own assertion fail.
      sendJson(response, 500, format.errorBody({ status: 500, message: String(error) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function close(): Promise<void> {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  return {
    wire,
    url,
    requests,
    ...settings(wire, url),
    received: (count) =>
      new Promise((resolve) => (requests.length >= count ? resolve() : waiting.push({ count, resolve }))),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function settings(wire: Wire, url: string): Pick<StandIn, "config" | "env"> {
  const apiKey = STAND_IN_KEY;
  if (wire === "anthropic")
    return {
      config: { anthropic: { apiKey, baseUrl: url } },
      env: { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: url, PATCHBAY_PROVIDER: "anthropic" },
    };
  if (wire === "gemini")
    return {
      config: { gemini: { apiKey, baseUrl: url } },
      env: { GEMINI_API_KEY: apiKey, GEMINI_BASE_URL: url, PATCHBAY_PROVIDER: "gemini" },
    };
  const api = wire === "openai-chat" ? "chat" : "responses";
  const baseUrl = `${url}/v1`;
  return {
    config: { openai: { apiKey, baseUrl, api } },
    env: { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl, OPENAI_API: api, PATCHBAY_PROVIDER: "openai" },
  };
}

/** The number of pieces of a body that is spread over a time. */
const SPREAD = 25;

async function send(response: ServerResponse, bytes: Buffer, turn: ScriptedTurn): Promise<void> {
  const { cutAfterBytes, cutCleanly, stallAfterBytes, spreadMs } = turn;
  const splitBytes = spreadMs === undefined ? (turn.splitBytes ?? bytes.length) : Math.ceil(bytes.length / SPREAD);
  const sent = bytes.subarray(0, cutAfterBytes ?? stallAfterBytes ?? bytes.length);
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  response.flushHeaders();
  for (let at = 0; at < sent.length && !response.destroyed; at += splitBytes) {
    response.write(sent.subarray(at, at + splitBytes));
    if (spreadMs !== undefined) await sleep(spreadMs / SPREAD, undefined, { ref: false });
    else if (splitBytes < bytes.length) await nextLoop();
  }
  if (stallAfterBytes !== undefined) return;
  if (cutAfterBytes === undefined || cutCleanly) response.end();
  // Written bytes are sent first.
  else response.write("", () => response.destroy());
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: JsonObject,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
