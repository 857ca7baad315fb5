import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";
import { createClient, PatchbayError, type AgentClient, type StreamedEvent } from "@patchbay/client";
import type { QueryTarget } from "../commands/query-target.ts";
import { KEYS, WITHOUT_KEY } from "../serving.ts";
import { reasonOf } from "@patchbay/loading/failure";
import { connectCommand } from "../printed-commands.ts";
import { fail, ok, warn, type Finding } from "./local-checks.ts";

const WAIT_MS = 10_000;
const SKEW_MS = 5_000;
const LOG = "Look at the service's log.";

/** Whether the service answers, and whether the clocks agree. */
export async function checkReachable(url: string): Promise<Finding[]> {
  const fix = "Check the address, that the service runs, and proxies and firewalls in between.";
  try {
    const startedAt = Date.now();
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(WAIT_MS) });
    const tookMs = Date.now() - startedAt;
    await response.text();
    if (!response.ok) return [fail("service", `${url}/healthz answered ${response.status}`, fix)];
    const skewMs = Date.parse(response.headers.get("Date") ?? "") - (startedAt + tookMs / 2);
    const reached = ok("service", `${url} answers in ${tookMs} ms`);
    if (Number.isNaN(skewMs)) return [reached];
    const seconds = Math.round(Math.abs(skewMs) / 1000);
    if (Math.abs(skewMs) <= SKEW_MS) return [reached, ok("clock", "agrees with the service's")];
    return [reached, warn("clock", `differs from the service's by ${seconds} s`, "Set both machines' clocks by NTP.")];
  } catch (error) {
    return [fail("service", `${url} does not answer: ${reasonOf(error)}`, fix)];
  }
}

/** Whether a WebSocket upgrade reaches the service: without a key it must answer 401. */
export async function checkUpgrade(url: string): Promise<Finding> {
  const { status } = await upgrade(url);
  if (status === 401) return ok("WebSocket", "upgrades reach the service");
  const fix = "Let the proxy pass Upgrade and Connection headers on /functions/connect, with HTTP/1.1.";
  return fail("WebSocket", `an upgrade of /functions/connect gave ${status} instead of the service's 401`, fix);
}

/** Whether a runtime could connect with this key now: opens a connection, and closes it before offering functions. */
export async function checkRuntimeKey(url: string, key: string, agent: string | undefined): Promise<Finding> {
  const { status, message } = await upgrade(url, {
    Authorization: `Bearer ${key}`,
    ...(agent !== undefined && { "X-Agent-Id": agent }),
  });
  if (status === 101) return ok("runtime key", "connects functions");
  const create = `on the server: patchbay runtime-keys create --agent ${agent ?? "ID"}`;
  // The answer names the limit, and what to do.
  if (status === 429) return warn("runtime key", message, `Create another one ${create}`);
  if (status === 401) return fail("runtime key", "is unknown or revoked", `Create one ${create}`);
  if (status === 403) return fail("runtime key", `does not belong to agent ${agent}`, `Create one ${create}`);
  return fail("runtime key", `the service answered ${status} ${message}`.trim(), LOG);
}

/** The answer to an upgrade request, or the error instead of its status. 101 when it succeeded; the connection is closed. */
async function upgrade(
  url: string,
  more: Record<string, string> = {},
): Promise<{ status: number | string; message: string }> {
  const target = new URL(`${url}/functions/connect`);
  const send = target.protocol === "https:" ? httpsRequest : httpRequest;
  const headers = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "cGF0Y2hiYXkgZG9jdG9yIQ==",
    ...more,
  };
  return await new Promise((resolve) => {
    const request = send(target, { headers, timeout: WAIT_MS }, (response) => {
      void text(response).then(
        (body) => resolve({ status: response.statusCode ?? 0, message: messageIn(body) }),
        () => resolve({ status: response.statusCode ?? 0, message: "" }),
      );
    });
    request.on("upgrade", (_, socket) => {
      socket.on("error", () => undefined);
      socket.destroy();
      resolve({ status: 101, message: "" });
    });
    request.on("timeout", () => request.destroy(new Error("no answer in time")));
    request.on("error", (error) => resolve({ status: error.message, message: "" }));
    request.end();
  });
}

/** An error body's `errorMessage`; empty for another body. */
function messageIn(body: string): string {
  try {
    const { errorMessage } = JSON.parse(body) as { errorMessage?: unknown };
    return typeof errorMessage === "string" ? errorMessage : "";
  } catch {
    return "";
  }
}

/** Whether the key is valid for this agent. */
export async function checkKey(target: QueryTarget): Promise<Finding> {
  try {
    await clientOf(target).listThreads({ limit: 1, signal: AbortSignal.timeout(WAIT_MS) });
    return ok("key", `opens agent ${target.agent}`);
  } catch (error) {
    const status = error instanceof PatchbayError ? error.status : 0;
    if (status === 0) return fail("key", networkReason(error), "Try again.");
    const create = `Create one on the server: patchbay keys create --agent ${target.agent}`;
    if (status === 401) return fail("key", "is unknown or revoked", create);
    const use = "Use a key of this agent, or the agent of this key.";
    if (status === 403) return fail("key", `does not belong to agent ${target.agent}`, use);
    return fail("key", `the service answered ${status}`, LOG);
  }
}

/** Sends one short query as a stream: checks that functions are connected and that events arrive as they happen. */
export async function checkStream(target: QueryTarget): Promise<Finding[]> {
  const client = clientOf(target);
  const startedAt = performance.now();
  let openedMs = 0;
  let last: StreamedEvent["event"] | undefined;
  try {
    const events = client.queryStream(
      { query: "Answer with the one word: ready. Call no function." },
      { signal: AbortSignal.timeout(60_000), onStart: () => (openedMs = performance.now() - startedAt) },
    );
    for await (const { event } of events) last = event;
  } catch (error) {
    if (!(error instanceof PatchbayError)) return [fail("query", reasonOf(error), LOG)];
    if (error.status !== 0) return [fail("query", `the stream answered ${error.status}`, LOG)];
    if (error.code !== "stream_lost") return [fail("query", networkReason(error), LOG)];
  }
  const tookMs = performance.now() - startedAt;
  if (last !== undefined && "threadId" in last) await client.deleteThread(last.threadId).catch(() => undefined);
  return [queryFinding(last, target), streamFinding({ openedMs, tookMs })];
}

/** The network's reason, if the client's error has one as its cause. */
const networkReason = (error: unknown): string =>
  reasonOf(error instanceof PatchbayError ? (error.cause ?? error) : error);

/** Without retries: a connection that a proxy cuts is a finding. */
const clientOf = ({ url, agent, key }: QueryTarget): AgentClient =>
  createClient({ baseUrl: url, agentId: agent, apiKey: key, maxRetries: 0 });

function queryFinding(last: StreamedEvent["event"] | undefined, target: QueryTarget): Finding {
  if (last?.type === "finalResponse") return ok("query", "functions are connected and a query is answered");
  if (last?.type === "error" && last.code === "agent_session_not_found")
    return fail(
      "query",
      ["no functions are connected", ...(last.warnings ?? [])].join(": "),
      `Start them: ${connectCommand(target)}`,
    );
  if (last?.type === "error" && last.code === "provider_not_configured")
    return fail("query", last.errorMessage, `Where serve runs, set ${KEYS}, or ${WITHOUT_KEY}.`);
  const reason = last?.type === "error" ? last.errorMessage : "the stream ended without a last event";
  const fix = "Look at the service's log, and at proxies that cut connections (300 s must be allowed).";
  return fail("query", reason, fix);
}

/** A proxy that buffers holds back even the headers until the last event. */
export function streamFinding({ openedMs, tookMs }: { openedMs: number; tookMs: number }): Finding {
  const [opened, took] = [Math.round(openedMs), Math.round(tookMs)];
  if (tookMs - openedMs < 20 && tookMs > 500) {
    const fix = "Turn buffering off in the proxy for /agents (nginx: proxy_buffering off).";
    return warn("stream", `opened after ${opened} ms and ended immediately: a proxy probably buffers it`, fix);
  }
  return ok("stream", `opened after ${opened} ms, ended after ${took} ms`);
}
